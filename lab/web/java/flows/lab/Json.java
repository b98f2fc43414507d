package lab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON: objects are maps, arrays lists, numbers Double. */
final class Json {
    private final String s;
    private int i;

    private Json(String s) { this.s = s; }

    /** The object that a text is; null when it is none. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        try {
            Json j = new Json(text.strip());
            Object o = j.value(0);
            return o instanceof Map && j.i == j.s.length() ? (Map<String, Object>) o : null;
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            return null;
        }
    }

    private void blank() { while (i < s.length() && " \t\r\n".indexOf(s.charAt(i)) >= 0) i++; }
    private char next() { blank(); return s.charAt(i); }
    private void want(char c) {
        if (next() != c) throw new IllegalArgumentException();
        i++;
    }

    private Object value(int depth) {
        if (depth > 50) throw new IllegalArgumentException();
        char c = next();
        if (c == '{') return map(depth);
        if (c == '[') return list(depth);
        if (c == '"') return string();
        for (String word : new String[] {"true", "false", "null"}) {
            if (!s.startsWith(word, i)) continue;
            i += word.length();
            return word.equals("null") ? null : (Object) word.equals("true");
        }
        int from = i;
        while (i < s.length() && "+-.eE0123456789".indexOf(s.charAt(i)) >= 0) i++;
        return Double.valueOf(s.substring(from, i));
    }

    private Map<String, Object> map(int depth) {
        Map<String, Object> out = new LinkedHashMap<>();
        want('{');
        while (next() != '}') {
            if (!out.isEmpty()) want(',');
            blank();
            String key = string();
            want(':');
            out.put(key, value(depth + 1));
        }
        i++;
        return out;
    }

    private List<Object> list(int depth) {
        List<Object> out = new ArrayList<>();
        want('[');
        while (next() != ']') {
            if (!out.isEmpty()) want(',');
            out.add(value(depth + 1));
        }
        i++;
        return out;
    }

    private String string() {
        want('"');
        StringBuilder b = new StringBuilder();
        for (; s.charAt(i) != '"'; i++) {
            char c = s.charAt(i);
            if (c != '\\') {
                b.append(c);
                continue;
            }
            c = s.charAt(++i);
            if (c == 'u') {
                b.append((char) Integer.parseInt(s.substring(i + 1, i + 5), 16));
                i += 4;
            } else {
                int at = "nrtbf".indexOf(c);
                b.append(at < 0 ? c : "\n\r\t\b\f".charAt(at));
            }
        }
        i++;
        return b.toString();
    }

    static String text(Object o) {
        if (o instanceof Map<?, ?> m) {
            List<String> parts = new ArrayList<>();
            m.forEach((k, v) -> parts.add(text(k) + ":" + text(v)));
            return "{" + String.join(",", parts) + "}";
        }
        if (o instanceof List<?> l) return "[" + String.join(",", l.stream().map(Json::text).toList()) + "]";
        if (o instanceof Double d && d == Math.rint(d)) return String.valueOf(d.longValue());
        if (o == null || o instanceof Number || o instanceof Boolean) return String.valueOf(o);
        StringBuilder b = new StringBuilder("\"");
        for (char c : o.toString().toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < ' ' || c == '<') b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }
}
