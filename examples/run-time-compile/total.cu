#include <cub/block/block_reduce.cuh>

static __global__ void kernel(const float* x, int n, float* sum) {
  typedef cub::BlockReduce<float, 256> Reduce;
  __shared__ typename Reduce::TempStorage room;
  float own = 0;
  for (int i = threadIdx.x; i < n; i += 256) own += x[i];
  float all = Reduce(room).Sum(own);
  if (threadIdx.x == 0) *sum = all;
}

// 0, or the number of CUDA's first error.
extern "C" int total(const float* x, int n, float* sum) {
  float *there = nullptr, *answer = nullptr;
  cudaError_t error = cudaMalloc(&there, n * sizeof(float));
  if (!error) error = cudaMalloc(&answer, sizeof(float));
  if (!error) error = cudaMemcpy(there, x, n * sizeof(float), cudaMemcpyHostToDevice);
  if (!error) kernel<<<1, 256>>>(there, n, answer);
  if (!error) error = cudaMemcpy(sum, answer, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(there);
  cudaFree(answer);
  return error;
}
