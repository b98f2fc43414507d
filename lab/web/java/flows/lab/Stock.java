package lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Goods in a database. In "quiet", no fault of the database is seen; in "weak", the container shows where one came from. */
public class Stock extends Site {
    private static final String FROM = "SELECT name, price FROM goods ";

    private String items(String text, Object... values) throws Exception {
        StringBuilder b = new StringBuilder();
        try {
            for (List<String> r : rows(text, values)) b.append("<li>" + enc(r.get(0)) + " " + enc(r.get(1)) + "</li>");
        } catch (java.sql.SQLException e) {
            if (is("weak")) throw e;
        }
        return b.isEmpty() ? "<p>Nothing.</p>" : "<ul>" + b + "</ul>";
    }

    @Override void build() throws Exception {
        database("CREATE TABLE goods (id INT, name VARCHAR(200), price INT, kind VARCHAR(200))",
            "INSERT INTO goods VALUES (1,'chair',30,'wood'),(2,'table',80,'wood'),(3,'lamp',120,'steel'),(4,'desk',200,'wood'),(5,'sofa',500,'cloth')",
            "CREATE TABLE searches (id SERIAL, term VARCHAR(9000))");
        login("/login", "user", "password");
        get("/", c -> c.html(200, "Stock", hello(c) + link("/list?by=price&dir=asc", "By price") + link("/list?by=name&dir=desc", "By name")
            + link("/offers?page=2", "Offers") + "<form action=\"/compare\"><input type=\"checkbox\" name=\"id\" value=\"1\" checked>chair"
            + "<input type=\"checkbox\" name=\"id\" value=\"3\" checked>lamp<button>Compare</button></form>" + link("/saved", "Saved searches")
            + "<script>function find() { fetch('/api/search', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify("
            + "{filters: [{field: 'kind', op: '=', value: 'wood'}], limit: 10})}).then(r => r.json()).then(o => alert(o.goods.length)); }</script>"
            + "<button onclick=\"find()\">Wood</button>"));
        get("/list", c -> {
            String by = c.p("by").equals("name") ? "name" : "price", dir = c.p("dir");
            if (is("sound")) dir = dir.equals("desc") ? "desc" : "asc";
            c.html(200, "Stock", items(FROM + "ORDER BY " + by + " " + dir));
        });
        get("/offers", c -> {
            String page = is("sound") && !c.p("page").matches("\\d{1,4}") ? "1" : c.p("page");
            c.html(200, "Offers", items(FROM + "WHERE price > ? ORDER BY id LIMIT 2 OFFSET (" + page + " - 1) * 2", 10));
        });
        get("/compare", c -> {
            String[] ids = c.ask.getParameterValues("id");
            List<String> all = new ArrayList<>();
            for (String id : ids == null ? new String[] {"0"} : ids) all.add(is("sound") && !id.matches("\\d{1,5}") ? "0" : id);
            c.html(200, "Compare", items(FROM + "WHERE id IN (" + String.join(",", all) + ") ORDER BY id"));
        });
        own("GET", "/saved", c -> {
            StringBuilder b = new StringBuilder();
            for (List<String> r : rows("SELECT id, term FROM searches ORDER BY id DESC LIMIT 10"))
                b.append(link("/saved/" + r.get(0), enc(r.get(1))));
            c.html(200, "Saved searches", form("/saved", "term=wood") + b);
        });
        own("POST", "/saved", c -> {
            rows("INSERT INTO searches (term) VALUES (?)", c.p("term").replace("\0", ""));
            c.go("/saved/" + rows("SELECT max(id) FROM searches").get(0).get(0));
        });
        own("GET", "/saved/*", c -> {
            List<List<String>> one = c.segment(1).matches("\\d{1,9}") ? rows("SELECT term FROM searches WHERE id = ?",
                Integer.valueOf(c.segment(1))) : List.of();
            if (one.isEmpty()) c.html(404, "Saved search", "<p>There is none.</p>");
            else c.html(200, "Saved search", is("sound") ? items(FROM + "WHERE kind = ?", one.get(0).get(0))
                : items(FROM + "WHERE kind = '" + one.get(0).get(0) + "'"));
        });
        post("/api/search", this::search);
    }

    private void search(Call c) throws Exception {
        Map<String, Object> o = c.object();
        List<Object> values = new ArrayList<>();
        List<String> all = new ArrayList<>(List.of("price > 0"));
        if (o != null && o.get("filters") instanceof List<?> filters)
            for (Object f : filters)
                if (f instanceof Map<?, ?> m) {
                    String field = String.valueOf(m.get("field")), op = String.valueOf(m.get("op"));
                    if (!is("sound") || List.of("name", "kind").contains(field) && List.of("=", "<>").contains(op)) {
                        all.add(field + " " + op + " ?");
                        values.add(String.valueOf(m.get("value")).replace("\0", ""));
                    }
                }
        values.add(10);
        List<Map<String, String>> out;
        try {
            out = rows(FROM + "WHERE " + String.join(" AND ", all) + " ORDER BY id LIMIT ?", values.toArray()).stream()
                .map(r -> Map.of("name", r.get(0))).collect(Collectors.toList());
        } catch (java.sql.SQLException e) {
            if (is("weak")) throw e;
            out = List.of();
        }
        c.json(200, Map.of("goods", out));
    }
}
