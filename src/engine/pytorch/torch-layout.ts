/** Where the fields of torch's tensors lie (c10/core/TensorImpl.h and StorageImpl.h): alike in 2.13 and 2.15, checked by what they hold. */

export const TORCH = {
  tensor: {
    storage: 0x10,
    dimensions: 0x38,
    sizes: 0x40,
    strides: 0x68,
    offset: 0x90,
    elements: 0x98,
    type: 0xa0,
    device: 0xa2,
  },
  storage: { data: 0x10, bytes: 0x30 },
} as const;

/** Types of elements by their number (c10/core/ScalarType.h), in the words of safetensors, and how many bytes they have. */
export const TORCH_FLOATS: ReadonlyMap<number, { readonly name: string; readonly bytes: number }> = new Map([
  [5, { name: "f16", bytes: 2 }],
  [6, { name: "f32", bytes: 4 }],
  [7, { name: "f64", bytes: 8 }],
  [15, { name: "bf16", bytes: 2 }],
]);
