package lab;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A portal: where a login leads, sessions in addresses, sessions that do not end, members who say what they are, and forms with
 * tokens. "shared" takes a token of anybody, and "weak" none as well, "slash" wants an address that begins with a slash.
 */
public class Portal extends Site {
    private final Set<String> tokens = ConcurrentHashMap.newKeySet();

    private String token(Call c) {
        String t = (String) c.ask.getSession().getAttribute("token");
        if (t == null) {
            t = random();
            c.ask.getSession().setAttribute("token", t);
            tokens.add(t);
        }
        return t;
    }

    private String to(Call c, String address, String text) { return link(c.answer.encodeURL(address), text); }

    @Override void build() {
        keepsId = is("weak");
        login("/signin", "email", "password");
        entry = "/login";
        String form = form("/signin", "-returnUrl=", "email=", "*password");
        get("/login", c -> c.html(200, "Sign in", form.replace("name=\"returnUrl\" value=\"\"", "name=\"returnUrl\" value=\"" + enc(c.p("returnUrl"))
            + "\"") + (c.ask.getSession() == null ? "" : to(c, "/register", "Become a member"))));
        entered = c -> {
            String to = c.p("returnUrl");
            boolean fine = is("weak") && !to.isEmpty() || is("slash") && to.startsWith("/") || to.matches("/[\\w/]*");
            c.go(fine ? to : "/me");
        };
        get("/", c -> {
            c.ask.getSession();
            c.html(200, "Portal", hello(c).replace("\"/login\"", "\"" + c.answer.encodeURL("/login?returnUrl=%2Fme") + "\"") + to(c, "/me", "My page"));
        });
        own("GET", "/me", c -> c.html(200, "My page", "<p>" + c.user().name + ", " + enc(c.user().mail) + ", role: " + enc(c.user().role) + "</p>"
            + form("/me/mail", "-token=" + token(c), "mail=" + c.user().mail)));
        own("POST", "/me/mail", c -> {
            String t = c.p("token");
            boolean fine = is("weak") && t.isEmpty() || is("weak", "shared") && tokens.contains(t) || t.equals(token(c));
            if (!fine) {
                c.html(403, "My page", "<p>This form is out of date.</p>");
                return;
            }
            c.user().mail = c.p("mail");
            c.go("/me");
        });
        get("/register", c -> c.html(200, "Become a member", form("/register", "-role=member", "email=", "*password")));
        post("/register", c -> {
            String name = c.p("email");
            if (!name.matches("[\\w.@+-]{1,60}") || users.containsKey(name) || c.p("password").isEmpty() || users.size() > 500) {
                c.html(400, "Become a member", "<p>This name cannot be taken.</p>" + form("/register", "-role=member", "email=", "*password"));
                return;
            }
            User u = new User(20 + users.size(), name, c.p("password"), is("weak") && !c.p("role").isEmpty() ? c.p("role") : "member");
            u.mail = name;
            synchronized (users) {
                users.put(name, u);
            }
            c.html(200, "Become a member", "<p>Welcome, " + enc(name) + ". Your role is " + enc(u.role) + ".</p>" + link("/login", "Sign in"));
        });
    }

    /** In "weak", what ends is the cookie in the browser alone. */
    @Override void leave(Call c) {
        if (!is("weak")) super.leave(c);
        else c.answer.addHeader("Set-Cookie", "JSESSIONID=; Path=/; Max-Age=0");
    }
}
