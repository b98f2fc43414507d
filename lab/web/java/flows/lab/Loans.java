package lab;

import jakarta.el.ELException;
import jakarta.el.ELManager;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A library, in the manner of Struts: actions, and parameters that are bound to properties of beans. */
public class Loans extends Site {
    private final Map<String, Map<String, String>> loans = new LinkedHashMap<>();
    private static final Map<String, String> BOOKS = new LinkedHashMap<>();
    static {
        BOOKS.put("31", "Sailing alone");
        BOOKS.put("32", "The slow garden");
        BOOKS.put("33", "Bread");
    }

    private void lend(String id, String who, String book, String street) {
        Map<String, String> one = new LinkedHashMap<>(Map.of("owner", who, "book", book, "street", street, "until", "Monday"));
        loans.put(id, one);
    }

    @Override void build() {
        login("/login.action", "userId", "password");
        lend("7001", "anna", "Bread", "4 Mill Lane");
        lend("7002", "ben", "Sailing alone", "9 Harbour Street");
        lend("7003", "anna", "The slow garden", "4 Mill Lane");
        users.values().forEach(u -> u.more.putAll(Map.of("phone", "555-01" + u.id, "level", u.id == 1 ? "staff" : "standard")));
        get("/", c -> c.html(200, "Library", hello(c) + link("/search.action?q=bread", "Search") + link("/profile.action", "Profile")
            + link("/loans.action", "My loans") + link("/book.action?book.id=31", "New: Sailing alone")));
        get("/book.action", c -> c.html(200, "Book", "<p>" + enc(BOOKS.getOrDefault(c.p("book.id"), "There is no such book.")) + "</p>"));
        get("/search.action", this::search);
        own("GET", "/profile.action", c -> c.html(200, "Profile", "<p>Level: " + enc(c.user().more.get("level")) + "</p>"
            + form("/profile.action", "reader.mail=" + c.user().mail, "reader.phone=" + c.user().more.get("phone"))));
        own("POST", "/profile.action", c -> {
            c.ask.getParameterMap().forEach((name, values) -> bind(c.user(), name, values[0]));
            c.go("/profile.action");
        });
        own("GET", "/loans.action", c -> {
            StringBuilder b = new StringBuilder();
            loans.forEach((id, l) -> {
                if (l.get("owner").equals(c.user().name)) b.append(link("/loan.action?loan.id=" + id, l.get("book")));
            });
            c.html(200, "My loans", b.toString());
        });
        own("GET", "/loan.action", c -> {
            Map<String, String> l = mine(c);
            if (l != null) c.html(200, "Loan", "<p>" + l.get("book") + " for " + l.get("owner") + ", sent to " + l.get("street")
                + ", until " + enc(l.get("until")) + "</p>" + form("/renew.action", "-loan.id=" + c.p("loan.id"), "loan.until=Tuesday"));
        });
        own("POST", "/renew.action", c -> {
            Map<String, String> l = mine(c);
            if (l == null) return;
            l.put("until", c.p("loan.until"));
            c.html(200, "Loan", "<p>It is yours until " + enc(c.p("loan.until")) + ".</p>");
        });
    }

    /** Sets a property of a reader. */
    private void bind(User u, String name, String value) {
        if (!name.startsWith("reader.")) return;
        String property = name.substring("reader.".length());
        if (property.equals("mail")) u.mail = value;
        else if (u.more.containsKey(property) && (weak || property.equals("phone"))) u.more.put(property, value);
    }

    /** The loan that a request names; null after an answer that there is none, or that it is not the user's. */
    private Map<String, String> mine(Call c) throws Exception {
        Map<String, String> l = loans.get(c.p("loan.id"));
        if (l != null && (weak || l.get("owner").equals(c.user().name))) return l;
        c.html(l == null ? 404 : 403, "Loan", "<p>" + (l == null ? "There is no such loan." : "This loan is not yours.") + "</p>");
        return null;
    }

    private void search(Call c) throws Exception {
        List<String> found = BOOKS.values().stream().filter(b -> b.toLowerCase().contains(c.p("q").toLowerCase())).toList();
        String said = found.size() + " of our books are about " + c.p("q");
        if (weak) {
            try {
                ELManager el = new ELManager();
                Object value = ELManager.getExpressionFactory().createValueExpression(el.getELContext(), said, String.class)
                    .getValue(el.getELContext());
                said = String.valueOf(value);
            } catch (ELException e) {
                said = "We have no such book";
            }
        }
        c.html(200, "Search", "<form action=\"/search.action\"><input name=\"q\" value=\"" + enc(c.p("q")) + "\"><button>Search</button></form><p>"
            + enc(said) + "</p><ul>" + String.join("", found.stream().map(b -> "<li>" + b + "</li>").toList()) + "</ul>");
    }
}
