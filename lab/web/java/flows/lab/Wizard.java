package lab;

import jakarta.servlet.http.Cookie;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/**
 * A form in steps whose state the page keeps, as views of JSF do: serialized ("java"), serialized and read with a list of classes
 * ("filtered"), as JSON ("json"), and with a seal ("sound"). What a visitor prefers is in a cookie, in the same way.
 */
public class Wizard extends Site {
    private static final String STATE = "javax.faces.ViewState";

    private String write(Map<String, Object> state) throws Exception {
        if (is("json")) return Base64.getEncoder().encodeToString(Json.text(state).getBytes(StandardCharsets.UTF_8));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ObjectOutputStream o = new ObjectOutputStream(out)) {
            o.writeObject(new HashMap<>(state));
        }
        String text = Base64.getEncoder().encodeToString(out.toByteArray());
        return is("sound") ? text + "." + seal(text) : text;
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> read(String text) throws Exception {
        if (is("sound")) {
            int dot = text.indexOf('.');
            if (dot < 0 || !java.security.MessageDigest.isEqual(seal(text.substring(0, dot)).getBytes(), text.substring(dot + 1).getBytes()))
                throw new IllegalArgumentException("the seal is broken");
            text = text.substring(0, dot);
        }
        byte[] raw = Base64.getDecoder().decode(text);
        if (is("json")) {
            Map<String, Object> state = Json.object(new String(raw, StandardCharsets.UTF_8));
            if (state == null) throw new IllegalArgumentException("no state");
            return state;
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(raw))) {
            if (!is("java")) in.setObjectInputFilter(ObjectInputFilter.Config.createFilter("java.util.*;java.lang.*;!*"));
            return (Map<String, Object>) in.readObject();
        }
    }

    private static String cookie(Call c, String name) {
        if (c.ask.getCookies() == null) return null;
        for (Cookie k : c.ask.getCookies()) if (k.getName().equals(name)) return k.getValue();
        return null;
    }

    @Override void build() {
        login("/login.xhtml", "username", "password");
        get("/", c -> {
            String prefs = cookie(c, "prefs"), theme = "light";
            try {
                if (prefs != null) theme = String.valueOf(read(prefs).get("theme"));
                else c.answer.addHeader("Set-Cookie", "prefs=" + write(Map.of("theme", "light")) + "; Path=/; HttpOnly; SameSite=Strict");
            } catch (Exception e) {
                c.html(200, "Benefits", "<p>What you prefer is lost: " + enc(e) + "</p>");
                return;
            }
            c.html(200, "Benefits", hello(c) + "<p>Theme: " + enc(theme) + "</p>" + link("/claim.xhtml", "Claim a benefit"));
        });
        own("GET", "/claim.xhtml", c -> step(c, new HashMap<>(Map.of("step", 1, "person", c.user().name, "plan", "basic", "limit", "0100"))));
        own("POST", "/claim.xhtml", c -> {
            Map<String, Object> state;
            try {
                state = read(c.p(STATE));
            } catch (Exception e) {
                c.html(500, "Claim", "<p>The view cannot be restored: " + enc(e) + "</p>");
                return;
            }
            if (!c.p("form:reason").isEmpty()) state.put("reason", c.p("form:reason"));
            state.put("step", 2);
            step(c, state);
        });
    }

    private void step(Call c, Map<String, Object> state) throws Exception {
        c.html(200, "Claim", "<p>Step " + enc(state.get("step")) + ". Plan: " + enc(state.get("plan")) + ", up to " + enc(state.get("limit"))
            + " for " + enc(state.get("person")) + "</p><p>" + enc(state.getOrDefault("reason", "No reason yet.")) + "</p>"
            + form("/claim.xhtml", "-" + STATE + "=" + write(state), "form:reason=Glasses"));
    }
}
