package lab;

import jakarta.servlet.RequestDispatcher;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;

/** A request and its answer. */
final class Call {
    private static final int MOST = 1 << 20;

    final Site site;
    final HttpServletRequest ask;
    final HttpServletResponse answer;
    final String path;
    Matcher found; // the segments that stand for a * in the path

    Call(Site site, HttpServletRequest ask, HttpServletResponse answer) {
        this.site = site;
        this.ask = ask;
        this.answer = answer;
        Object included = ask.getAttribute(RequestDispatcher.INCLUDE_SERVLET_PATH);
        path = included != null ? included.toString() : ask.getServletPath() + Objects.toString(ask.getPathInfo(), "");
    }

    String p(String name) { return Objects.toString(ask.getParameter(name), ""); }
    String segment(int n) { return found.group(n); }
    String host() { return ask.getHeader("Host"); }

    Site.User user() {
        if (ask.getRemoteUser() != null) return site.users.get(ask.getRemoteUser());
        HttpSession s = ask.getSession(false);
        return s == null ? null : (Site.User) s.getAttribute("user");
    }
    String body() throws IOException { return new String(ask.getInputStream().readNBytes(MOST), StandardCharsets.UTF_8); }
    /** The object that the request has as JSON; null for none. */
    Map<String, Object> object() throws IOException { return Json.object(body()); }

    void send(int status, String type, String text) throws IOException {
        answer.setStatus(status);
        answer.setContentType(type);
        answer.setCharacterEncoding("UTF-8");
        if (!answer.containsHeader("Cache-Control")) answer.setHeader("Cache-Control", "no-store");
        answer.setHeader("X-Content-Type-Options", "nosniff");
        answer.getWriter().print(text);
    }
    void html(int status, String title, String body) throws IOException {
        send(status, "text/html", "<!DOCTYPE html><html><head><title>" + title + "</title></head><body><header><a href=\"/\">Start</a>"
            + "</header><main><h1>" + title + "</h1>" + body + "</main></body></html>");
    }
    void json(int status, Object value) throws IOException { send(status, "application/json", Json.text(value)); }
    void go(String to) {
        answer.setStatus(303);
        answer.setHeader("Location", to.replace("\r", "").replace("\n", ""));
    }
}
