import { expect, test } from "bun:test";
import { structOffsets } from "../../../scripts/struct-offsets.ts";

/** What gdb 13 prints for two structures and one that it does not know. */
const TEXT = `/* offset      |    size */  type = struct ggml_backend_buffer {
/*      0      |       8 */    ggml_backend_buffer_type_t buft;
/*      8      |      16 */    struct ggml_backend_buffer_i {
/*      8      |       8 */        void (*free_buffer)(ggml_backend_buffer_t);
/*     16      |       8 */        int context;

                                   /* total size (bytes):   16 */
                               } iface;
/*     96      |       8 */    void *context;
/* XXX  4-byte hole      */
/*    112      |       4 */    enum ggml_backend_buffer_usage usage;
/* XXX  4-byte padding   */

                               /* total size (bytes):  120 */
                             }
/* offset      |    size */  type = struct ggml_tensor {
/*     16      |      32 */    int64_t ne[4];
/*    152      |      80 */    struct ggml_tensor *src[10];

                               /* total size (bytes):  336 */
                             }
No struct type named ggml_cgraph.
`;

test("offsets are those of a structure's own members, as gdb prints them", () => {
  expect([...(structOffsets(TEXT, "ggml_backend_buffer") ?? [])]).toEqual([
    ["buft", 0],
    ["context", 96],
    ["usage", 112],
  ]);
  expect([...(structOffsets(TEXT, "ggml_tensor") ?? [])]).toEqual([
    ["ne", 16],
    ["src", 152],
  ]);
});

test("a structure that gdb does not know has none", () => {
  expect(structOffsets(TEXT, "ggml_cgraph")).toBeNull();
});
