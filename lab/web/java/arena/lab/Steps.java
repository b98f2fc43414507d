package lab;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Steps change a value, or refuse it, before a sink gets it: encoders, filters that are incomplete, and helpers. */
final class Steps {
    interface Step { String change(String in) throws Exception; }

    /** A value that a page does not take. */
    static final class Refused extends Exception {
        final int status;

        Refused(int status, String text) {
            super(text);
            this.status = status;
        }
    }

    private final Map<String, Step> all = new HashMap<>();

    Steps() {
        encoders();
        filters();
        refusals();
        keeps();
        drops();
    }

    Step get(String name) {
        if (!all.containsKey(name)) throw new IllegalArgumentException("there is no step " + name);
        return all.get(name);
    }

    private void encoders() {
        all.put("enc", Ask::enc);
        all.put("angle", in -> in.replace("<", "&lt;").replace(">", "&gt;"));
        all.put("angle-double", in -> in.replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;"));
        all.put("angle-single", in -> in.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;"));
        all.put("first-angle", in -> in.replaceFirst("<", "&lt;").replaceFirst(">", "&gt;"));
        all.put("js", in -> {
            StringBuilder b = new StringBuilder();
            for (char c : in.toCharArray()) b.append(c < 128 && Character.isLetterOrDigit(c) ? String.valueOf(c)
                : String.format("\\u%04x", (int) c));
            return b.toString();
        });
        all.put("backslash-quotes", in -> in.replace("'", "\\'").replace("\"", "\\\""));
        all.put("json", in -> in.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")
            .replace("\r", "\\r"));
        all.put("doubled", in -> in.replace("\0", "").replace("'", "''"));
    }

    private void filters() {
        all.put("decode", Steps::decoded);
        all.put("base64", in -> {
            try {
                return new String(Base64.getDecoder().decode(in), StandardCharsets.UTF_8);
            } catch (IllegalArgumentException e) {
                throw new Refused(400, "That is no Base64.");
            }
        });
        all.put("unentity", in -> in.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"")
            .replace("&#39;", "'").replace("&amp;", "&"));
        all.put("nfkc", in -> Normalizer.normalize(in, Normalizer.Form.NFKC));
        all.put("first-25", in -> in.substring(0, Math.min(25, in.length())));
        all.put("first-2", in -> in.substring(0, Math.min(2, in.length())));
        all.put("upper", String::toUpperCase);
        all.put("without-script", in -> in.replaceAll("(?i)</?script", ""));
        all.put("without-tags", in -> in.replaceAll("<[^>]*>", ""));
        all.put("without-angle", in -> in.replaceAll("[<>]", ""));
        all.put("without-comment", in -> in.replaceAll("[<>-]", ""));
        all.put("without-calls", in -> in.replaceAll("[()'\"]", ""));
        all.put("without-ups", in -> in.replace("../", ""));
        all.put("without-spaces", in -> in.replaceAll("\\s", ""));
        all.put("without-words", in -> in.replaceAll("\\b(union|select|or|and)\\b", ""));
        all.put("without-comments", in -> in.replaceAll("--|/\\*|#", ""));
        all.put("without-http", in -> in.replaceFirst("^https?://", ""));
        all.put("slashes", in -> in.replace('\\', '/'));
        all.put("cut-zero", in -> in.indexOf(0) < 0 ? in : in.substring(0, in.indexOf(0)));
        all.put("last-part", in -> in.substring(Math.max(in.lastIndexOf('/'), in.lastIndexOf('\\')) + 1)
            .replace("\0", ""));
    }

    private void refuse(String name, int status, String pattern, String text) {
        all.put(name, in -> {
            if (java.util.regex.Pattern.compile(pattern).matcher(in).find()) throw new Refused(status, text);
            return in;
        });
    }

    private void refusals() {
        refuse("no-script", 403, "script", "A forbidden word.");
        refuse("no-handlers", 403, "(?i)on\\w+=", "A forbidden attribute.");
        refuse("no-space", 200, "\\s", "Blanks are not allowed.");
        refuse("no-angle", 200, "[<>]", "Angle brackets are not allowed.");
        refuse("no-quotes", 500, "['\"\\\\;]", "Internal error: illegal character in the request.");
        refuse("no-ups", 403, "\\.\\.", "A forbidden path.");
        refuse("no-root", 403, "^[/~]", "A forbidden path.");
        refuse("no-slash-slash", 200, "^//", "This is not a page of ours.");
        refuse("no-http", 200, "(?i)http:", "This is not a page of ours.");
        refuse("no-semicolon", 200, "[;&]", "A forbidden character.");
        refuse("no-joins", 200, "[;&|]", "A forbidden character.");
        refuse("no-loopback", 403, "127\\.0\\.0\\.1|localhost", "A forbidden host.");
        refuse("no-dollar", 200, "\\$\\{", "A forbidden character.");
        refuse("txt-only", 404, "^(?!.*\\.txt$)", "Only texts can be read.");
        refuse("number", 400, "^(?!-?\\d{1,6}$)", "This is not a number.");
        refuse("number-500", 500, "^(?!-?\\d{1,6}$)", "NumberFormatException: this is not a number.");
        refuse("words", 200, "^(?!(wood|steel|cloth|anna|ben|price|name|readme|news|home|/home\\.html|en|guest)$)",
            "Unknown value.");
        refuse("plain", 400, "[^\\w .@+-]", "Letters and digits only, please.");
        refuse("host-name", 400, "^(?![a-z0-9][a-z0-9.-]*$)", "This is not a host.");
    }

    /** Helpers that keep a value: which one does, only their code tells. */
    private void keeps() {
        all.put("map-keep", in -> {
            Map<String, Object> m = new HashMap<>();
            m.put("keyA", "a-value");
            m.put("keyB", in);
            m.put("keyC", "another-value");
            return (String) m.get("keyB");
        });
        all.put("list-keep", in -> {
            List<String> list = new ArrayList<>(Arrays.asList("safe", in, "moresafe"));
            list.remove(0);
            return list.get(0);
        });
        all.put("coded-keep", in -> {
            String coded = Base64.getEncoder().encodeToString(in.getBytes(StandardCharsets.UTF_8));
            return new String(Base64.getDecoder().decode(coded), StandardCharsets.UTF_8);
        });
        all.put("ternary-keep", in -> {
            int number = 106;
            return 7 * 18 + number > 200 ? in : "never";
        });
        all.put("switch-keep", in -> switch ("ABC".charAt(1)) {
            case 'A' -> "bob";
            case 'B' -> in;
            default -> "uncle";
        });
        all.put("builder-keep", in -> new StringBuilder("x").append(in).append("y").deleteCharAt(0)
            .reverse().deleteCharAt(0).reverse().toString());
        all.put("split-keep", in -> String.join(" ", in.split(" ", -1)));
        all.put("holder-keep", in -> java.util.Optional.of(in).map(v -> new Object[] {"first", v})
            .map(v -> (String) v[1]).orElse("none"));
    }

    private void drops() {
        all.put("map-drop", in -> {
            Map<String, Object> m = new HashMap<>();
            m.put("keyA", "wood");
            m.put("keyB", in);
            m.put("keyB", m.get("keyA"));
            return (String) m.get("keyB");
        });
        all.put("list-drop", in -> {
            List<String> list = new ArrayList<>(Arrays.asList("safe", in, "moresafe"));
            list.remove(0);
            return list.get(1);
        });
        all.put("ternary-drop", in -> {
            int number = 86;
            return 7 * 42 - number > 200 ? "steel" : in;
        });
        all.put("switch-drop", in -> switch ("ABC".charAt(2)) {
            case 'A' -> in;
            case 'C' -> "felt";
            default -> "uncle";
        });
        all.put("builder-drop", in -> {
            StringBuilder b = new StringBuilder(in);
            b.setLength(0);
            return b.append("safe").toString();
        });
    }

    /** A text without its encoding for URLs; as it is when that is broken. */
    static String decoded(String in) {
        try {
            return URLDecoder.decode(in, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return in;
        }
    }
}
