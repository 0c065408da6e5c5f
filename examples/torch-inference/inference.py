"""One forward pass of a small network on the GPU, or on the CPU where there is none."""

import torch


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to(device).eval()
    with torch.inference_mode():
        answer = model(torch.ones(1, 64, device=device))
    print(f"Torch Version: {torch.__version__}, Is CUDA Available: {torch.cuda.is_available()}, shape {tuple(answer.shape)}")


if __name__ == "__main__":
    main()
