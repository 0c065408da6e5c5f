// y[i] = factor * x[i], with a C interface for ctypes. Returns nullptr, or the CUDA runtime's error text.
#include <cuda_runtime.h>

__global__ void scale_kernel(float *values, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= factor;
}

extern "C" const char *scale(float *values, int count, float factor) {
    float *device = nullptr;
    size_t bytes = count * sizeof(float);
    cudaError_t error = cudaMalloc(&device, bytes);
    if (error == cudaSuccess) error = cudaMemcpy(device, values, bytes, cudaMemcpyHostToDevice);
    if (error == cudaSuccess) {
        scale_kernel<<<(count + 255) / 256, 256>>>(device, count, factor);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) error = cudaMemcpy(values, device, bytes, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}
