import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.passthrough.PassthroughNDManager;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** Writes files of DJL into a folder; collect.py describes the output. DJL's own manager holds the arrays. */
public final class Djl {
    private static final NDManager MANAGER = PassthroughNDManager.INSTANCE;

    private static NDArray array(String name, DataType type, Shape shape, byte... raw) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(raw.length).order(ByteOrder.nativeOrder());
        buffer.put(raw).rewind();
        NDArray array = MANAGER.create(buffer, shape, type);
        array.setName(name);
        return array;
    }

    private static byte[] floats(float... values) {
        ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        buffer.asFloatBuffer().put(values);
        return buffer.array();
    }

    private static void describe(NDArray array, String type) {
        ByteBuffer buffer = array.toByteBuffer().duplicate().rewind();
        StringBuilder hex = new StringBuilder();
        while (buffer.hasRemaining()) {
            hex.append(String.format("%02x", buffer.get()));
        }
        String dims = LongStream.of(array.getShape().getShape()).mapToObj(Long::toString).collect(Collectors.joining(","));
        System.out.printf("\t%s\t%s\t%s\t%s%n", array.getName(), type, dims, hex);
    }

    private static void write(Path file, NDList list, NDList.Encoding encoding, String note) throws Exception {
        try (OutputStream out = Files.newOutputStream(file)) {
            list.encode(out, encoding);
        }
        System.out.printf("%s\tDJL 0.38.0\t%s\t\t%n", file.getFileName(), note);
        describe(list.get(0), "BOOL");
        describe(list.get(1), "F32");
        describe(list.get(2), "F16");
    }

    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[0]);
        // Each encoding reads the buffers to their ends.
        write(out.resolve("djl.safetensors"), arrays(), NDList.Encoding.SAFETENSORS,
                "order of the list, no padding: numbers at odd addresses");
        write(out.resolve("djl.npz"), arrays(), NDList.Encoding.NPZ, "deflated");
    }

    private static NDList arrays() {
        NDArray flag = array("z.flag", DataType.BOOLEAN, new Shape(3), (byte) 1, (byte) 0, (byte) 1);
        NDArray matrix = array("matrix", DataType.FLOAT32, new Shape(2, 3),
                floats(-2.25f, -1.25f, -0.25f, 0.75f, 1.75f, 2.75f));
        NDArray half = array("a.half", DataType.FLOAT16, new Shape(1), (byte) 0, (byte) 0x3E);
        return new NDList(flag, matrix, half);
    }
}
