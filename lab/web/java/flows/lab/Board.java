package lab;

import java.time.LocalDate;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;

/** Feedback that administrators read, visits, and a log that they see as lines. */
public class Board extends Site {
    private static final int MOST = 40;

    private final List<String> feedback = new CopyOnWriteArrayList<>();
    private final List<String> visits = new CopyOnWriteArrayList<>();
    private final List<String> log = new CopyOnWriteArrayList<>();

    private static void keep(List<String> list, String text) {
        list.add(text);
        if (list.size() > MOST) list.remove(0);
    }

    private String text(String v) { return weak ? v : enc(v); }

    @Override void build() {
        login("/signin", "name", "password");
        get("/", c -> c.html(200, "Board", hello(c) + link("/feedback", "Feedback") + link("/contact", "Contact") + link("/view/opening-hours", "Hours") + link("/ask", "Ask")
            + (c.user() != null && c.user().role.equals("admin") ? link("/admin/feedback", "What they say") + link("/admin/visits", "Visits")
                + link("/admin/log", "Log") : "")));
        get("/feedback", c -> c.html(200, "Feedback", form("/feedback", "subject=Thanks", "text=It works")));
        post("/feedback", c -> {
            keep(feedback, "<li>" + enc(c.p("subject")) + ": " + text(c.p("text")) + "</li>");
            c.html(200, "Feedback", "<p>Thank you.</p>");
        });
        get("/contact", c -> {
            keep(visits, "<li>" + text(Objects.toString(c.ask.getHeader("User-Agent"), "")) + "</li>");
            c.html(200, "Contact", "<p>4 Mill Lane</p>");
        });
        get("/view/*", c -> c.html(200, "View", c.segment(1).equals("opening-hours") ? "<p>Monday to Friday</p>"
            : "<p>There is nothing about " + text(c.segment(1)) + ".</p>"));
        get("/ask", c -> c.html(200, "Ask", form("/ask", "topic=bread")));
        post("/ask", c -> {
            String topic = weak ? c.p("topic") : c.p("topic").replaceAll("[\\r\\n]+", " ");
            keep(log, LocalDate.now() + " INFO somebody asks for " + topic);
            c.html(200, "Ask", "<p>We will look for it.</p>");
        });
        admin("GET", "/admin/feedback", c -> c.html(200, "Feedback", "<ul>" + String.join("", feedback) + "</ul>"));
        admin("GET", "/admin/visits", c -> c.html(200, "Visits", "<ul>" + String.join("", visits) + "</ul>"));
        admin("GET", "/admin/log", c -> c.html(200, "Log", "<pre>" + enc(String.join("\n", log)) + "</pre>"));
    }
}
