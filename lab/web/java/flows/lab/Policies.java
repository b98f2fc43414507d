package lab;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An insurance with resources in paths: those of a customer, documents under encoded names, and claims as JSON. */
public class Policies extends Site {
    private record Policy(int owner, String what, String where) { }

    private final Map<String, Policy> policies = Map.of("8101", new Policy(11, "Bicycle", "4 Mill Lane"), "8102",
        new Policy(12, "Boat", "9 Harbour Street"), "8103", new Policy(11, "House", "4 Mill Lane"));
    private final List<Map<String, Object>> claims = new ArrayList<>();

    private static String encoded(String id) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(("policy:" + id).getBytes(StandardCharsets.UTF_8));
    }

    @Override void build() {
        login("/login", "email", "password");
        get("/", c -> c.html(200, "Policies", hello(c) + link("/rest/tariffs/1", "Tariff of bicycles") + link("/account", "Your policies")
            + link("/contact", "Contact") + link("/claims", "Claims")));
        get("/rest/tariffs/*", c -> {
            if (c.segment(1).matches("[1-4]")) c.json(200, Map.of("tariff", c.segment(1), "price", 10 * Integer.parseInt(c.segment(1))));
            else c.json(404, Map.of("error", "no such tariff"));
        });
        own("GET", "/account", c -> {
            StringBuilder b = new StringBuilder();
            policies.forEach((id, p) -> {
                if (p.owner == c.user().id) b.append(link("/rest/customers/" + p.owner + "/policies/" + id, p.what)
                    + link("/rest/documents/" + encoded(id), "Document"));
            });
            c.html(200, "Your policies", b.toString());
        });
        own("GET", "/rest/customers/*/policies/*", c -> {
            Policy p = policies.get(c.segment(2));
            boolean own = c.segment(1).equals(String.valueOf(c.user().id));
            if (!own || p == null) c.json(own ? 404 : 403, Map.of("error", own ? "no such policy" : "not your account"));
            else if (!weak && p.owner != c.user().id) c.json(404, Map.of("error", "no such policy"));
            else c.json(200, Map.of("id", c.segment(2), "insured", p.what, "address", p.where, "customer", p.owner));
        });
        own("GET", "/rest/documents/*", this::document);
        own("GET", "/contact", c -> c.html(200, "Contact", "<p>We write to " + enc(c.user().mail) + "</p>"
            + script("/rest/contact", "{mail: document.getElementById('f').value}", c.user().mail)));
        own("POST", "/rest/contact", c -> {
            String kind = c.ask.getContentType();
            if (!weak && (kind == null || !kind.startsWith("application/json"))) {
                c.json(415, Map.of("error", "send application/json"));
                return;
            }
            Map<String, Object> o = c.object();
            if (o == null || !(o.get("mail") instanceof String mail)) {
                c.json(400, Map.of("error", "mail is missing"));
                return;
            }
            c.user().mail = mail;
            c.json(200, Map.of("mail", mail));
        });
        own("GET", "/claims", c -> c.html(200, "Claims", script("/rest/claims",
            "{text: document.getElementById('f').value, amount: 50}", "A broken wheel")));
        own("POST", "/rest/claims", this::claim);
    }

    /** A page's script that sends an object. */
    private static String script(String to, String object, String value) {
        return "<input id=\"f\" value=\"" + enc(value) + "\"><button onclick=\"send()\">Send</button><script>function send() { fetch('" + to
            + "', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(" + object
            + ")}).then(r => r.json()).then(o => alert(o.id || o.error)); }</script>";
    }

    private void document(Call c) throws Exception {
        String name;
        try {
            name = new String(Base64.getUrlDecoder().decode(c.segment(1)), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            name = "";
        }
        Policy p = policies.get(name.replace("policy:", ""));
        if (p == null || !weak && p.owner != c.user().id) c.html(404, "Document", "<p>There is no such document.</p>");
        else c.html(200, "Document", "<p>" + p.what + ", insured for customer " + p.owner + " at " + p.where + "</p>");
    }

    private synchronized void claim(Call c) throws Exception {
        Map<String, Object> o = c.object();
        if (o == null || !(o.get("text") instanceof String) || !(o.get("amount") instanceof Double)) {
            c.json(400, Map.of("error", "text and amount are missing"));
            return;
        }
        Map<String, Object> one = new LinkedHashMap<>(Map.of("state", "submitted", "approved", false));
        one.put("id", claims.size() + 1);
        one.put("text", o.get("text"));
        one.put("amount", o.get("amount"));
        if (weak) one.keySet().forEach(k -> one.put(k, o.getOrDefault(k, one.get(k))));
        claims.add(one);
        c.json(201, one);
    }
}
