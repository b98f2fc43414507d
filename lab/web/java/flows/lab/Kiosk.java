package lab;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;

/** A shop and a course: sums that overflow, vouchers that two requests at once take twice, a certificate without its exam. */
public class Kiosk extends Site {
    private static final int PRICE = 80, CREDIT = 20;

    private static final String QUESTION = "<form action=\"/exam/answers\" method=\"post\"><select name=\"answer\"><option>56</option>"
        + "<option>54</option><option>65</option></select><button>Send</button></form>";

    private final Map<String, Integer> totals = new ConcurrentHashMap<>();
    private final Map<String, Integer> credits = new ConcurrentHashMap<>();
    private final Map<String, Set<String>> vouchers = new ConcurrentHashMap<>();
    private final Set<String> passed = ConcurrentHashMap.newKeySet();

    @Override void build() {
        login("/login", "user", "password");
        for (String name : users.keySet()) {
            Set<String> own = new ConcurrentSkipListSet<>();
            for (int i = 1; i < 9; i++) own.add("GIFT-" + name + "-" + i);
            vouchers.put(name, own);
        }
        get("/", c -> c.html(200, "Kiosk", hello(c) + link("/cart", "Cart") + link("/wallet", "Wallet") + link("/exam/start", "Course")));
        own("GET", "/cart", c -> c.html(200, "Cart", "<p>Total: " + totals.getOrDefault(c.user().name, 0) + "</p>"
            + form("/cart/add", "-item=2", "quantity=1")));
        own("POST", "/cart/add", c -> {
            int quantity;
            try {
                quantity = Integer.parseInt(c.p("quantity"));
            } catch (NumberFormatException e) {
                quantity = 0;
            }
            if (quantity < 1 || !weak && quantity > 99) {
                c.html(400, "Cart", "<p>This quantity cannot be ordered.</p>");
                return;
            }
            totals.put(c.user().name, quantity * PRICE);
            c.go("/cart");
        });
        own("GET", "/wallet", c -> {
            StringBuilder b = new StringBuilder("<p>Credit: " + credits.getOrDefault(c.user().name, 0) + "</p>");
            for (String v : vouchers.get(c.user().name)) b.append(form("/voucher/redeem", "-voucher=" + v));
            c.html(200, "Wallet", b.toString());
        });
        own("POST", "/voucher/redeem", this::redeem);
        own("GET", "/exam/start", c -> c.html(200, "Course", "<p>Read the book, then answer.</p>" + form("/exam/questions", "-agree=yes")));
        own("POST", "/exam/questions", c -> c.html(200, "Exam", "<p>What is seven times eight?</p>" + QUESTION));
        own("POST", "/exam/answers", c -> {
            boolean right = c.p("answer").strip().equals("56");
            if (right) passed.add(c.user().name);
            c.html(200, "Exam", right ? "<p>You have passed.</p>" + form("/exam/certificate", "-print=yes")
                : "<p>This is wrong. Without the exam there is no certificate.</p>" + QUESTION);
        });
        own("POST", "/exam/certificate", c -> {
            if (weak || passed.contains(c.user().name)) c.html(200, "Certificate", "<p>Certificate of " + c.user().name + "</p>");
            else c.html(409, "Certificate", "<p>First pass the exam.</p>");
        });
    }

    /** Between the look and the change it asks another service, as shops do. */
    private void redeem(Call c) throws Exception {
        Set<String> own = vouchers.get(c.user().name);
        boolean fine;
        synchronized (own) {
            fine = weak ? own.contains(c.p("voucher")) : own.remove(c.p("voucher"));
        }
        Thread.sleep(40);
        if (fine) {
            synchronized (own) {
                own.remove(c.p("voucher"));
                credits.merge(c.user().name, CREDIT, Integer::sum);
            }
            c.html(200, "Wallet", "<p>Your credit has grown by " + CREDIT + ".</p>");
        } else {
            c.html(409, "Wallet", "<p>This voucher cannot be used.</p>");
        }
    }
}
