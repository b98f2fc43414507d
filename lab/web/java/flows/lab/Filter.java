package lab;

import java.util.Map;

/** Filters of LDAP (RFC 4515), as far as the directory needs them. */
final class Filter {
    private final String s;
    private final Map<String, String> entry;
    private int i;

    private Filter(String s, Map<String, String> entry) {
        this.s = s;
        this.entry = entry;
    }

    /** Whether an entry is as a filter says; what follows the filter is not read. IllegalArgumentException for none. */
    static boolean matches(String filter, Map<String, String> entry) {
        try {
            return new Filter(filter, entry).one();
        } catch (IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("Unbalanced parenthesis", e);
        }
    }

    private boolean one() {
        if (s.charAt(i++) != '(') throw new IllegalArgumentException("Missing '('");
        char kind = s.charAt(i);
        boolean is;
        if (kind == '&' || kind == '|' || kind == '!') {
            i++;
            is = kind == '&';
            while (s.charAt(i) == '(') {
                boolean next = one();
                is = kind == '&' ? is && next : kind == '|' ? is || next : !next;
            }
        } else {
            int end = i;
            while (s.charAt(end) != ')') if (s.charAt(end++) == '(') throw new IllegalArgumentException("Unexpected '('");
            String[] pair = s.substring(i, end).split("=", 2);
            if (pair.length < 2 || pair[0].isEmpty()) throw new IllegalArgumentException("Missing '='");
            i = end;
            is = fits(pair[1], entry.get(pair[0].toLowerCase()));
        }
        if (s.charAt(i++) != ')') throw new IllegalArgumentException("Missing ')'");
        return is;
    }

    private static boolean fits(String pattern, String value) {
        if (value == null) return false;
        StringBuilder b = new StringBuilder("(?is)");
        for (int i = 0; i < pattern.length(); i++) {
            char c = pattern.charAt(i);
            if (c == '*') {
                b.append(".*");
            } else if (c == '\\') {
                if (!pattern.substring(i).matches("(?s)\\\\[0-9a-fA-F]{2}.*")) throw new IllegalArgumentException("Bad escape");
                b.append(java.util.regex.Pattern.quote(String.valueOf((char) Integer.parseInt(pattern.substring(i + 1, i + 3), 16))));
                i += 2;
            } else {
                b.append(java.util.regex.Pattern.quote(String.valueOf(c)));
            }
        }
        return value.matches(b.toString());
    }

    static String escaped(String value) {
        StringBuilder b = new StringBuilder();
        for (char c : value.toCharArray()) b.append("*()\\\0".indexOf(c) < 0 ? String.valueOf(c) : String.format("\\%02x", (int) c));
        return b.toString();
    }
}
