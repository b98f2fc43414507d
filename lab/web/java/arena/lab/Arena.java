package lab;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.Part;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An application in the manner of public benchmarks for testers of web applications: folders of pages with one input
 * each, and numbered tests whose value goes through helpers. It is weak on purpose, and serves loopback only.
 *
 * arena.tsv has a line for each case: path, class, label, source and name of the input, its usual value, how the page
 * uses it, and a proof. How is a pipeline: steps (Steps) that change or refuse the value, then a sink with its
 * arguments, such as "angle | xss double". The classes of this package are the sinks.
 */
public final class Arena extends HttpServlet {
    /** A sink answers a request with a value. */
    interface Sink { void serve(Ask a, String in, String[] args) throws Exception; }

    /** A case: more are further inputs of its form, as name=value. */
    record Case(String path, String source, String param, List<String> more, String value, String how) {
        String folder() { return path.substring(0, path.indexOf('/', 1) + 1); }
        boolean numbered() { return path.matches(".*/Test\\d+"); }
    }

    private static final int FIELDS = 9;

    final Steps steps = new Steps();
    final Map<String, Sink> sinks = new HashMap<>();
    private final Map<String, Case> cases = new LinkedHashMap<>();
    private final Map<String, List<Case>> folders = new LinkedHashMap<>();

    @Override public void init() throws ServletException {
        try {
            sinks.put("xss", new Xss());
            sinks.put("sql", new Sql());
            new Files().add(sinks);
            new Documents().add(sinks);
            new Answers().add(sinks);
            read();
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }

    /** Reads the cases; one whose sink or step there is not is an error. */
    private void read() throws IOException {
        try (BufferedReader r = new BufferedReader(new InputStreamReader(
                Arena.class.getResourceAsStream("/arena.tsv"), StandardCharsets.UTF_8))) {
            for (String line = r.readLine(); line != null; line = r.readLine()) {
                String[] f = line.split("\t", -1);
                if (f.length != FIELDS) throw new IOException("arena.tsv: " + line);
                for (String method : f[3].equals("both") ? new String[] {"get", "post"} : new String[] {f[3]}) {
                    List<String> names = new ArrayList<>(Arrays.asList(f[4].split("&")));
                    add(new Case(f[0].replace("{m}", method), method, names.remove(0), names, f[5], f[6]));
                }
            }
        }
    }

    private void add(Case c) {
        String[] parts = c.how.split(" \\| ");
        for (int i = 0; i < parts.length - 1; i++) steps.get(parts[i]);
        if (!sinks.containsKey(parts[parts.length - 1].split(" ")[0])) throw new IllegalArgumentException(c.how);
        cases.put(c.path, c);
        if (!c.source.equals("hidden")) folders.computeIfAbsent(c.folder(), k -> new ArrayList<>()).add(c);
    }

    @Override protected void service(HttpServletRequest q, HttpServletResponse a)
            throws ServletException, IOException {
        q.setCharacterEncoding("UTF-8");
        Ask ask = new Ask(this, q, a);
        String path = ask.path;
        Case c = cases.get(path);
        try {
            if (c != null) answer(ask, c);
            else if (cases.get(path.replaceFirst("[^/]+$", "*")) instanceof Case of)
                serve(ask, of, path.substring(path.lastIndexOf('/') + 1));
            else if (path.endsWith(".html")
                && cases.get(path.replaceFirst("\\.html$", "")) instanceof Case of) form(ask, of);
            else rest(ask, path);
        } catch (Steps.Refused e) {
            ask.html(e.status, "Refused", "<p>" + Ask.enc(e.getMessage()) + "</p>");
        } catch (ServletException | IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }

    /** The pages that are no cases: the indexes, and a home. */
    private void rest(Ask a, String path) throws IOException {
        StringBuilder b = new StringBuilder();
        if (path.equals("/")) {
            for (String f : folders.keySet()) b.append(link(f, f.replace("/", "")));
            a.html(200, "Arena", "<p>Each folder has pages of one kind.</p><ul>" + b + "</ul>");
        } else if (path.equals("/home.html")) {
            a.html(200, "Home", "<p>The house of the arena.</p>");
        } else if (folders.containsKey(path)) {
            for (Case c : folders.get(path)) b.append(link(entry(a, c), c.path.substring(path.length())));
            a.html(200, path.replace("/", ""), "<ul>" + b + "</ul>");
        } else {
            a.html(404, "Not found", "<p>There is no such page.</p>");
        }
    }

    private static String link(String to, String text) {
        return "<li><a href=\"" + Ask.enc(to) + "\">" + Ask.enc(text) + "</a></li>\n";
    }

    /** Where the index leads for a case: to its page with the usual value, or to its form. */
    private static String entry(Ask a, Case c) {
        if (c.numbered()) return c.path + ".html";
        if (c.source.equals("path")) return c.path.replace("*", c.value);
        if (!c.source.equals("get")) return c.path;
        String query = c.param + "=" + URLEncoder.encode(a.fill(c.value), StandardCharsets.UTF_8);
        for (String m : c.more) query += "&" + m;
        return c.path + "?" + query;
    }

    private void answer(Ask a, Case c) throws Exception {
        String in = taken(a, c);
        if (in == null) form(a, c);
        else serve(a, c, in);
    }

    private void serve(Ask a, Case c, String in) throws Exception {
        String[] parts = c.how.split(" \\| ");
        for (int i = 0; i < parts.length - 1; i++) in = steps.get(parts[i]).change(in);
        String[] sink = parts[parts.length - 1].split(" ");
        sinks.get(sink[0]).serve(a, in, Arrays.copyOfRange(sink, 1, sink.length));
    }

    /** The value of a request; null when there is none. */
    private static String taken(Ask a, Case c) throws Exception {
        boolean post = a.q.getMethod().equals("POST");
        switch (c.source) {
            case "get": return a.q.getParameter(c.param);
            case "post": return post ? a.q.getParameter(c.param) : null;
            case "header": return a.q.getHeader(c.param) == null ? null : Steps.decoded(a.q.getHeader(c.param));
            case "cookie":
                for (Cookie k : a.q.getCookies() == null ? new Cookie[0] : a.q.getCookies())
                    if (k.getName().equals(c.param)) return Steps.decoded(k.getValue());
                return null;
            case "name":
                for (Map.Entry<String, String[]> e : a.q.getParameterMap().entrySet())
                    if (Arrays.asList(e.getValue()).contains(c.param)) return e.getKey();
                return null;
            case "filename", "content":
                Part p = post && a.q.getContentType() != null && a.q.getContentType().startsWith("multipart/")
                    ? a.q.getPart(c.param) : null;
                if (p == null) return null;
                return c.source.equals("filename") ? p.getSubmittedFileName()
                    : new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            case "body": return post ? new String(a.q.getInputStream().readAllBytes(), StandardCharsets.UTF_8) : null;
            default: return "";
        }
    }

    /** The page of a case that sends its usual value. */
    private static void form(Ask a, Case c) throws IOException {
        String value = Ask.enc(a.fill(c.value)), send = "<p><input type=\"submit\" value=\"Send\"></p></form>";
        StringBuilder b = new StringBuilder();
        switch (c.source) {
            case "filename", "content" -> b.append("<form action=\"" + c.path
                + "\" method=\"post\" enctype=\"multipart/form-data\">"
                + "<label>File <input type=\"file\" name=\"" + c.param + "\"></label>" + send);
            case "cookie" -> {
                a.a.addHeader("Set-Cookie", c.param + "=" + URLEncoder.encode(a.fill(c.value), StandardCharsets.UTF_8)
                    + "; Path=" + c.path);
                b.append("<form action=\"" + c.path
                    + "\" method=\"post\"><input type=\"hidden\" name=\"sent\" value=\"yes\">" + send);
            }
            case "header" -> b.append(c.param.equals("Referer") ? "<p><a href=\"" + c.path + "\">Go on</a></p>"
                : script(c, "\"GET\"", "call.setRequestHeader(\"" + c.param + "\", \"" + value + "\"); call.send();"));
            case "body" -> b.append(script(c, "\"POST\"",
                "call.setRequestHeader(\"Content-Type\", \"application/xml\"); call.send(\""
                + c.value.replace("\"", "\\\"").replace("/", "\\/") + "\");"));
            default -> {
                b.append("<form action=\"" + c.path + "\" method=\"" + (c.source.equals("name") ? "post" : c.source)
                    + "\">");
                boolean name = c.source.equals("name");
                b.append(field(name ? value : c.param, name ? c.param : value));
                for (String m : c.more) b.append(field(m.substring(0, m.indexOf('=')),
                    m.substring(m.indexOf('=') + 1)));
                b.append(send);
            }
        }
        a.html(200, c.path.replaceAll(".*/|\\.jsp", ""), b.toString());
    }

    private static String field(String name, String value) {
        return "<label>" + name + " <input type=\"text\" name=\"" + name + "\" value=\"" + value + "\"></label>\n";
    }

    private static String script(Case c, String method, String send) {
        return "<p id=\"answer\"></p><button onclick=\"sendIt()\">Send</button><script>\nfunction sendIt() {\n"
            + "  var call = new XMLHttpRequest();\n  call.open(" + method + ", \"" + c.path + "\", true);\n"
            + "  call.onload = function () { document.getElementById(\"answer\").textContent = call.responseText; };\n"
            + "  " + send + "\n}\n</script>";
    }
}
