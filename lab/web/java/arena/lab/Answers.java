package lab;

import jakarta.el.ELException;
import jakarta.el.ELManager;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/**
 * Further sinks: go redirects, sh runs a command, el evaluates, error fails, head sets headers, log keeps lines, and
 * old is a forgotten file.
 */
final class Answers {
    private static final int MOST = 50;

    private final Deque<String> log = new ArrayDeque<>();

    void add(Map<String, Arena.Sink> sinks) {
        sinks.put("go", Answers::go);
        sinks.put("sh", Answers::run);
        sinks.put("el", Answers::evaluate);
        sinks.put("error", Answers::fail);
        sinks.put("head", Answers::head);
        sinks.put("log", this::log);
        sinks.put("old", Answers::old);
    }

    private static void go(Ask a, String in, String[] args) throws IOException {
        String own = a.self();
        if (args.length > 1) {
            boolean fits = switch (args[1]) {
                case "begins" -> in.startsWith(own);
                case "contains" -> in.contains(a.q.getHeader("Host"));
                case "ends" -> in.replaceFirst("^https?://", "").replaceFirst("/.*", "").endsWith("lab.example");
                case "slash" -> in.startsWith("/") && !in.startsWith("//");
                case "local" -> in.matches("/([\\w.-][\\w./?=&-]*)?");
                case "ours" -> ours(in, own);
                default -> throw new IllegalArgumentException(args[1]);
            };
            if (!fits) {
                a.html(200, "Leaving", "<p>This is not a page of ours.</p>");
                return;
            }
        }
        String quoted = in.replace("\\", "\\\\").replace("'", "\\'").replace("<", "\\x3c")
            .replace("\n", "").replace("\r", "");
        switch (args[0]) {
            case "refresh" -> {
                a.a.setHeader("Refresh", "0; url=" + in);
                a.html(200, "Moving", "<p>One moment.</p>");
            }
            case "meta" -> a.page(200, "Moving", "<meta http-equiv=\"refresh\" content=\"0; url=" + Ask.enc(in)
                + "\">", "<p>One moment.</p>");
            case "script" -> a.page(200, "Moving", "<script>window.location.href = '"
                + (in.matches("(?i)\\s*(https?:|/).*") ? quoted : "/") + "';</script>", "");
            case "replace" -> a.page(200, "Moving", "", "<script>location.replace('"
                + (in.matches("(?i)\\s*(https?:|/).*") ? quoted : "/") + "');</script>");
            case "link" -> a.html(200, "Leaving", "<p>You leave us: <a rel=\"noreferrer\" href=\""
                + (in.matches("https?://.*") ? Ask.enc(in) : "/") + "\">go on</a></p>");
            case "query" -> to(a, 302, "/home.html?from=" + java.net.URLEncoder.encode(in, StandardCharsets.UTF_8));
            case "under" -> to(a, 302, "/home.html/" + in.replaceAll("[^\\w.-]", "_"));
            case "rooted" -> to(a, 302, "/" + in);
            case "secure" -> to(a, 302, "https://" + in);
            case "named" -> to(a, 302, in.equals("home") ? "/home.html" : "/");
            default -> to(a, Integer.parseInt(args[0]), in);
        }
    }

    private static void to(Ask a, int status, String where) throws IOException {
        a.a.setHeader("Location", where);
        a.html(status, "Moved", "<p>The page is elsewhere.</p>");
    }

    private static boolean ours(String in, String own) {
        try {
            URI u = URI.create(in);
            return in.matches("[\\w.:/?=&-]+") && own.equals(u.getScheme() + "://" + u.getRawAuthority());
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    /** Runs "sh PLACE VIEW": what is shown is the output, whether it worked, or nothing. */
    private static void run(Ask a, String in, String[] args) throws Exception {
        String one = in.replace("\0", "");
        String command = switch (args[0]) {
            case "single" -> "echo 'Hello @@'";
            case "double" -> "echo \"Hello @@\"";
            case "middle" -> "echo start @@ end | tr a-z a-z";
            case "last" -> "date +%Y | grep -c @@";
            case "file" -> "ls -d /usr/@@";
            case "sub" -> "echo $(basename @@ .txt)";
            default -> "echo Hello @@";
        };
        List<String> line = switch (args[0]) {
            case "args" -> List.of("echo", "Hello", one);
            case "quoted" -> List.of("sh", "-c", "echo Hello '" + one.replace("'", "'\\''") + "'");
            case "variable" -> List.of("sh", "-c", "echo Hello \"$NAME\"");
            default -> List.of("sh", "-c", command.replace("@@", one));
        };
        List<String> bounded = new ArrayList<>(List.of("timeout", "20")); // it ends what the command starts, too
        bounded.addAll(line);
        ProcessBuilder b = new ProcessBuilder(bounded).redirectErrorStream(true);
        b.environment().put("NAME", one);
        Process p = b.start();
        p.getOutputStream().close();
        String text = new String(p.getInputStream().readNBytes(20_000), StandardCharsets.UTF_8);
        boolean worked = p.waitFor() == 0;
        switch (args[1]) {
            case "output" -> a.html(200, "Tools", "<pre>" + Ask.enc(text) + "</pre>");
            case "worked" -> a.html(worked ? 200 : 500, "Tools", worked ? "<p>It worked.</p>" : "<p>It failed.</p>");
            default -> a.html(200, "Tools", "<p>Thank you.</p>");
        }
    }

    private static void evaluate(Ask a, String in, String[] args) throws IOException {
        String text = switch (args[0]) {
            case "inner" -> "${" + in + "}";
            case "part" -> "Hello " + in + ", welcome back.";
            case "key" -> "${labels['" + in + "']}";
            default -> in;
        };
        if (args[0].equals("product")) { // a reckoner that knows nothing but products
            String[] f = in.split("\\*");
            boolean two = in.matches("\\d{1,4}\\*\\d{1,4}");
            a.html(200, "Reckoner", "<p>" + (two ? "The product is " + Integer.parseInt(f[0]) * Integer.parseInt(f[1])
                : "That is no product.") + "</p>");
            return;
        }
        if (!args[0].equals("shown")) {
            try {
                ELManager el = new ELManager();
                el.defineBean("labels", Map.of("en", "Welcome", "fr", "Bienvenue"));
                if (args[0].equals("bean")) {
                    el.defineBean("who", in);
                    text = "Hello ${who}, 2 and 2 is ${2 + 2}.";
                }
                Object value = ELManager.getExpressionFactory().createValueExpression(
                    el.getELContext(), text, String.class).getValue(el.getELContext());
                text = String.valueOf(value);
            } catch (ELException e) {
                a.fault(args[1], "Greeting", "<p>Hello.</p>", e);
                return;
            }
        }
        a.html(200, "Greeting", "<p>" + Ask.enc(text) + "</p>");
    }

    private static void fail(Ask a, String in, String[] args) throws IOException {
        try {
            switch (args[0]) {
                case "number" -> a.html(200, "Page", "<p>Page " + Integer.parseInt(in) + "</p>");
                case "index" -> a.html(200, "Page", "<p>Page " + List.of("one", "two", "three").get(in.length())
                    + "</p>");
                case "date" -> a.html(200, "Day", "<p>" + java.time.LocalDate.parse(in).getDayOfWeek() + "</p>");
                case "class" -> a.html(200, "Kind", "<p>" + Ask.enc(Class.forName("java.util." + in).getSimpleName())
                    + "</p>");
                default -> throw new IllegalStateException("Something went wrong.");
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            if (args[1].equals("number")) a.html(500, "Fault", "<p>Your report has the number "
                + Math.abs(in.hashCode()) + ". Please call us.</p>");
            else if (args[1].equals("hidden")) a.html(500, "Fault", "<p>Something went wrong.</p>\n<!--\n"
                + Ask.enc(Ask.trace(e)) + "\n-->");
            else a.fault(args[1], "Fault", "<p>There is no such page.</p>", e);
        }
    }

    private static void head(Ask a, String in, String[] args) throws IOException {
        if (args[0].equals("cookie")) a.a.addHeader("Set-Cookie", "lang=" + in
            + "; Path=/; HttpOnly; SameSite=Strict");
        else if (args[0].equals("go")) a.a.setHeader("Location", "/home.html?lang=" + in);
        else a.a.setHeader("X-Lang", in);
        a.html(args[0].equals("go") ? 302 : 200, "Language", "<p>The language was set.</p>");
    }

    private void log(Ask a, String in, String[] args) throws IOException {
        synchronized (log) {
            if (args[0].equals("view")) {
                a.send(200, "text/plain; charset=utf-8", String.join("\n", log) + "\n");
                return;
            }
            log.addFirst("INFO login failed for " + (args[0].equals("line") ? in.replaceAll("[\\r\\n]", "_") : in));
            while (log.size() > MOST) log.removeLast();
        }
        a.html(200, "Sign in", "<p>No such login. The <a href=\"/log/view.jsp\">log</a> has more.</p>");
    }

    private static void old(Ask a, String in, String[] args) throws IOException {
        if (args[0].equals("same")) a.html(200, "Shop",
            "<p>Welcome to the shop. What you look for may have moved.</p>");
        else if (args[0].equals("refused")) a.html(403, "Refused", "<p>This may not be read.</p>");
        else a.send(200, "text/plain", "<%@ page import=\"java.sql.*\" %>\n<%\n"
            + "  String url = \"jdbc:postgresql://db.lab.example/shop\";\n"
            + "  Connection c = DriverManager.getConnection(url, \"shop\", \"s3a-Horse-" + args[0]
            + "\");\n%>\n<html><body>Shop</body></html>\n");
    }
}
