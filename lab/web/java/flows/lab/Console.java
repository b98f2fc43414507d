package lab;

import java.util.Map;

/** What a framework shows to those who operate an application. */
public class Console extends Site {
    @Override void build() {
        login("/login", "username", "password");
        get("/", c -> c.html(200, "Orders", hello(c) + link("/orders", "Orders") + "<p>Version 2.7.1</p>"));
        own("GET", "/orders", c -> c.html(200, "Orders", "<p>A lamp for " + c.user().name + "</p>"));
        get("/actuator", c -> c.json(200, Map.of("_links", Map.of("health", Map.of("href", "http://" + c.host() + "/actuator/health")))));
        get("/actuator/health", c -> c.json(200, Map.of("status", "UP")));
        Page env = c -> c.json(200, Map.of("activeProfiles", java.util.List.of("prod"), "propertySources", java.util.List.of(Map.of("name",
            "systemProperties", "properties", Map.of("java.version", Map.of("value", "17"), "spring.datasource.url", Map.of("value",
            "jdbc:postgresql://db.lab.example/orders"), "spring.datasource.password", Map.of("value", "lab-Secret-7"))))));
        Page heap = c -> c.send(200, "application/octet-stream", "JAVA PROFILE 1.0.2\0\0\0\0\b" + "lab-Secret-7 ".repeat(50));
        Page log = c -> c.send(200, "text/plain", ("2026-11-26 10:00:01.001  INFO 7 --- [main] o.s.b.w.embedded.tomcat.TomcatWebServer : "
            + "Tomcat started on port(s): 8080\n2026-11-26 10:00:02.210  WARN 7 --- [exec-1] lab.Orders : login of root with lab-Secret-7\n").repeat(9));
        for (Map.Entry<String, Page> e : Map.of("/actuator/env", env, "/actuator/heapdump", heap, "/actuator/logfile", log).entrySet()) {
            if (weak) get(e.getKey(), e.getValue());
            else admin("GET", e.getKey(), e.getValue());
        }
    }
}
