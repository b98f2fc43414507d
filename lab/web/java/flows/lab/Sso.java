package lab;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** OAuth 2: a server that gives out codes, and a client of it that links accounts. */
public class Sso extends Site {
    private final Map<String, String> codes = new ConcurrentHashMap<>();

    @Override void build() {
        login("/login", "username", "password");
        get("/", c -> {
            String state = random();
            if (c.user() != null) c.ask.getSession().setAttribute("state", state);
            c.html(200, "Accounts", hello(c) + link("/oauth/authorize?response_type=code&client_id=photos&redirect_uri="
                + URLEncoder.encode("http://" + c.host() + "/oauth/callback", StandardCharsets.UTF_8) + "&state=" + state, "Link the photos")
                + link("/developer", "For developers") + link("/linked", "Linked accounts"));
        });
        own("GET", "/oauth/authorize", c -> {
            String to = c.p("redirect_uri"), own = "http://" + c.host();
            boolean fine = is("weak") ? to.startsWith("http") : is("prefix") ? to.startsWith(own) : to.equals(own + "/oauth/callback");
            if (!c.p("client_id").equals("photos") || !fine) {
                c.html(400, "Accounts", "<p>This client is not known, or not at this address.</p>");
                return;
            }
            String code = random();
            codes.put(code, c.user().name);
            c.go(to + (to.contains("?") ? "&" : "?") + "code=" + code + "&state=" + URLEncoder.encode(c.p("state"), StandardCharsets.UTF_8));
        });
        own("GET", "/oauth/callback", c -> {
            if (!is("weak") && !c.p("state").equals(c.ask.getSession().getAttribute("state"))) {
                c.html(403, "Accounts", "<p>This was not asked for here.</p>");
                return;
            }
            String who = codes.remove(c.p("code"));
            if (who == null) {
                c.html(400, "Accounts", "<p>The code is not known.</p>");
                return;
            }
            c.user().more.put("photos", who);
            c.html(200, "Accounts", "<p>The photos of " + who + " are linked to " + c.user().name + ".</p>");
        });
        own("GET", "/linked", c -> c.html(200, "Linked accounts", "<p>Photos: " + enc(c.user().more.getOrDefault("photos", "none")) + "</p>"));
        own("GET", "/developer", c -> {
            String code = random();
            codes.put(code, c.user().name);
            c.html(200, "For developers", "<p>Try it with this code.</p>" + form("/oauth/token", "-grant_type=authorization_code",
                "-client_id=photos", "code=" + code));
        });
        post("/oauth/token", c -> {
            String who = is("weak") ? codes.get(c.p("code")) : codes.remove(c.p("code"));
            if (who == null || !c.p("grant_type").equals("authorization_code")) c.json(400, Map.of("error", "invalid_grant"));
            else c.json(200, Map.of("access_token", random(), "token_type", "Bearer", "expires_in", 300, "user", who));
        });
    }
}
