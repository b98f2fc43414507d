package lab;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Passwords that are forgotten: "serial" counts its tickets, "digest" makes them from the name, "reused" takes one again. */
public class Recover extends Site {
    private final Map<String, String> tickets = new ConcurrentHashMap<>();
    private final Map<String, List<String>> mails = new ConcurrentHashMap<>();
    private final AtomicInteger last = new AtomicInteger(100040);

    private String ticket(String name) throws Exception {
        if (is("serial")) return String.valueOf(last.incrementAndGet());
        if (!is("digest")) return random();
        byte[] sum = MessageDigest.getInstance("MD5").digest(name.getBytes(StandardCharsets.UTF_8));
        return String.format("%032x", new BigInteger(1, sum));
    }

    @Override void build() {
        login("/login", "login", "password");
        get("/", c -> c.html(200, "Mail", hello(c) + link("/forgot", "Forgot the password?") + link("/inbox", "Inbox")));
        get("/forgot", c -> c.html(200, "Forgot", form("/forgot", "login=")));
        post("/forgot", c -> {
            String name = c.p("login");
            if (users.containsKey(name)) {
                String ticket = ticket(name);
                tickets.put(ticket, name);
                List<String> list = mails.computeIfAbsent(name, k -> new ArrayList<>());
                synchronized (list) {
                    list.add(ticket);
                    if (list.size() > 20) list.remove(0);
                }
            }
            c.html(200, "Forgot", "<p>If we know the name, a mail is on its way.</p>");
        });
        own("GET", "/inbox", c -> {
            StringBuilder b = new StringBuilder();
            List<String> list = mails.getOrDefault(c.user().name, new ArrayList<>());
            synchronized (list) {
                list.forEach(t -> b.append(link("/reset?ticket=" + t, "Choose a new password")));
            }
            c.html(200, "Inbox", b.isEmpty() ? "<p>No mails.</p>" : b.toString());
        });
        get("/reset", c -> {
            if (!tickets.containsKey(c.p("ticket"))) c.html(404, "Reset", "<p>This link is not valid.</p>");
            else c.html(200, "Reset", form("/reset", "-ticket=" + c.p("ticket"), "*password"));
        });
        post("/reset", c -> {
            String name = is("reused") ? tickets.get(c.p("ticket")) : tickets.remove(c.p("ticket"));
            if (name == null || c.p("password").isEmpty()) {
                c.html(404, "Reset", "<p>This link is not valid.</p>");
                return;
            }
            User old = users.get(name);
            users.put(name, new User(old.id, name, c.p("password"), old.role));
            c.html(200, "Reset", "<p>The password was changed.</p>");
        });
    }
}
