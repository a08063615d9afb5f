package com.acme.billing;

import java.util.*;

/** class Fake {} */
@Entity
@Table(name = "invoices", uniqueConstraints = {@UniqueConstraint(columnNames = "id")})
public final class Invoice<T extends Comparable<T>> extends Base<Map<String, T>> implements Serializable {
    private static final Map<String, List<Integer>> CACHE = new HashMap<>() {{ put("a", null); }};
    private final Runnable task = () -> { run(); };
    static {
        System.loadLibrary("x");
    }

    public Invoice(@NonNull String id) {
        super(id);
    }

    @Override
    public <R> Optional<R> map(Function<? super T, ? extends R> f) throws IOException, Other {
        class Local { void hidden() {} }
        return new Optional<>() { public void hidden() {} };
    }

    protected abstract void later(int a);

    String text() {
        return """
            class No { void no() {} }
            """ + '"' + "}";
    }

    public enum State {
        OPEN("o") { @Override void go() {} },
        CLOSED("c");
        private final String code;
        State(String code) { this.code = code; }
        String code() { return code; }
    }

    public record Line(String name, int amount) {
        public Line {
            if (amount < 0) throw new IllegalArgumentException();
        }
        static Line of(String s) { return null; }
    }

    interface Visitor<R> { R visit(Invoice<?> i); default void done() {} }
    @interface Marker { String value() default "x"; }
}
