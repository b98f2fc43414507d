package lab;

/**
 * Hours of work, with logins and constraints of the container (web.xml): in "weak" they name some methods alone, and a page
 * compares the address as it was sent.
 */
public class Hours extends Site {
    private final StringBuffer raised = new StringBuffer();

    @Override void build() {
        get("/", c -> c.html(200, "Hours", (c.user() == null ? link("/my/hours", "Sign in") : "<p>You are " + c.user().name
            + ". <a href=\"/logout\">Sign out</a></p>") + link("/my/hours", "My hours") + link("/news", "News")
            + (c.ask.isUserInRole("manager") ? link("/admin/salaries", "Salaries") + link("/admin/audit", "Audit") : "")));
        get("/news", c -> c.html(200, "News", "<p>The canteen is closed on Friday.</p>"));
        get("/login", c -> c.html(200, "Sign in", form("/j_security_check", "j_username=", "*j_password")));
        get("/failed", c -> c.html(200, "Sign in", "<p>Name and password do not match.</p>"
            + form("/j_security_check", "j_username=", "*j_password")));
        get("/logout", c -> {
            leave(c);
            c.go("/");
        });
        get("/my/hours", c -> c.html(200, "My hours", "<p>" + c.ask.getRemoteUser() + " worked 38 hours.</p>"));
        Page salaries = c -> c.html(200, "Salaries", "<table><tr><td>anna</td><td>3100</td></tr><tr><td>ben</td><td>2900</td></tr></table><p>"
            + enc(raised) + "</p>" + form("/admin/raise", "person=ben", "percent=2"));
        get("/admin/salaries", salaries);
        post("/admin/salaries", salaries);
        Page raise = c -> {
            raised.setLength(0);
            raised.append("Last raised: ").append(c.p("person"));
            c.html(200, "Raise", "<p>The salary of " + enc(c.p("person")) + " is raised by " + enc(c.p("percent")) + ".</p>");
        };
        post("/admin/raise", raise);
        if (weak) get("/admin/raise", raise);
        get("/admin/audit", c -> {
            if (c.ask.getRequestURI().startsWith("/admin/audit") && !c.ask.isUserInRole("manager")) {
                c.html(403, "Audit", "<p>This is for managers.</p>");
                return;
            }
            c.html(200, "Audit", "<p>Monday: root opened the safe. Tuesday: root changed the lock.</p>");
        });
    }
}
