"""Says which execution providers this onnxruntime was built with."""

import onnxruntime

print(onnxruntime.__version__, onnxruntime.get_available_providers())
