package lab;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;

/** A request, and its answer. */
final class Ask {
    final Arena site;
    final HttpServletRequest q;
    final HttpServletResponse a;
    final String path;

    Ask(Arena site, HttpServletRequest q, HttpServletResponse a) {
        this.site = site;
        this.q = q;
        this.a = a;
        String at = q.getServletPath() + (q.getPathInfo() == null ? "" : q.getPathInfo());
        path = at.replaceFirst("/index\\.jsp$", "/"); // what the container makes of a folder
    }

    /** A usual value; {self} is the address of the application, and {host} its host and port. */
    String fill(String value) { return value.replace("{self}", self()).replace("{host}", q.getHeader("Host")); }

    String self() { return "http://" + q.getHeader("Host"); }

    /** A further input; "" when it is missing. */
    String p(String name) { return q.getParameter(name) == null ? "" : q.getParameter(name); }

    void html(int status, String title, String body) throws IOException { page(status, title, "", body); }

    void page(int status, String title, String head, String body) throws IOException {
        send(status, "text/html; charset=utf-8",
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title + "</title>"
            + head + "</head>\n<body>\n<h1>" + title + "</h1>\n" + body
            + "\n<p><a href=\"/\">Index</a></p></body></html>\n");
    }

    void send(int status, String type, String text) throws IOException {
        a.setStatus(status);
        a.setContentType(type);
        a.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Answers a fault in one of several ways: shown500, shown404 and shown200 with its message, trace500 with the
     * calls, bare500 and bare404 with a fixed text, away with a redirect, and quiet with what a page answers when nothing
     * was found.
     */
    void fault(String way, String title, String nothing, Exception e) throws IOException {
        int status = way.matches(".*\\d{3}") ? Integer.parseInt(way.substring(way.length() - 3)) : 200;
        switch (way.replaceAll("\\d+$", "")) {
            case "shown" -> html(status, title, "<p>It failed: " + enc(e.getMessage()) + "</p>");
            case "trace" -> html(status, title, "<pre>" + enc(trace(e)) + "</pre>");
            case "bare" -> html(status, title, "<p>Something went wrong.</p>");
            case "away" -> {
                a.setStatus(302);
                a.setHeader("Location", "/home.html");
            }
            default -> html(200, title, nothing);
        }
    }

    static String trace(Exception e) {
        StringWriter w = new StringWriter();
        e.printStackTrace(new PrintWriter(w, true));
        return w.toString();
    }

    static String enc(Object o) {
        return String.valueOf(o).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            .replace("\"", "&quot;").replace("'", "&#39;");
    }
}
