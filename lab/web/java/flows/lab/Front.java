package lab;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A bank behind a shared cache. In "weak" the cache keeps whatever ends as a script or a picture, and pages that a header of
 * the request has changed; a page of a user says that all may keep it.
 */
public class Front extends Site {
    private static final int MOST = 300;

    private final Map<String, String> cache = new ConcurrentHashMap<>();

    private void cached(Call c, String key, String text) throws Exception {
        if (cache.size() > MOST) cache.clear();
        c.answer.setHeader("Cache-Control", "public, max-age=60");
        String old = cache.putIfAbsent(key, text);
        c.answer.setHeader("X-Cache", old == null ? "MISS" : "HIT");
        c.answer.setHeader("Age", old == null ? "0" : "3");
        c.html(200, "Bank", Objects.requireNonNullElse(old, text));
    }

    @Override void build() {
        login("/login", "customer", "password");
        get("/", c -> c.html(200, "Bank", hello(c) + link("/offers?kind=saving", "Offers") + link("/account", "Account")
            + link("/statement", "Statement")));
        get("/offers", c -> {
            String host = c.ask.getHeader("X-Forwarded-Host");
            host = weak && host != null ? "http://" + host : "";
            String key = c.path + "?" + Objects.toString(c.ask.getQueryString(), "");
            cached(c, key, "<p>3 % on savings</p><script src=\"" + enc(host) + "/offers.js\"></script>");
        });
        get("/offers.js", c -> c.send(200, "text/javascript", "var offers = 3;"));
        Page account = c -> {
            if (weak && c.path.matches(".*\\.(css|js|png)")) {
                String old = cache.get(c.path);
                if (old == null && c.user() == null) c.go(entry);
                else cached(c, c.path, old == null ? balance(c) : old);
            } else if (c.user() == null) {
                c.go(entry);
            } else {
                c.html(200, "Account", balance(c));
            }
        };
        get("/account", account);
        get("/account/*", account);
        own("GET", "/statement", c -> {
            c.answer.setHeader("Cache-Control", weak ? "public, max-age=600" : "private, no-store");
            c.html(200, "Statement", "<p>Statement of " + c.user().name + ": card 4929 0000 0000 00" + c.user().id + ", rent 700</p>");
        });
    }

    private static String balance(Call c) {
        return "<p>" + c.user().name + " has " + 100 * c.user().id + " on account LAB77 00" + c.user().id + "</p>";
    }
}
