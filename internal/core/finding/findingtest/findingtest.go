// Package findingtest makes events for tests and benchmarks of findings.
package findingtest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Event is the i-th of many different events: of 53 templates, at 97 hosts of 7 domains, of every severity; some 600
// bytes with its request and response.
func Event(i int) engine.Event {
	severities := []syntax.Severity{"info", "info", "low", "medium", "high", "critical", "unknown"}
	host := fmt.Sprintf("h%d.example%d.com", i%97, i%7)
	template := fmt.Sprintf("CVE-2024-%d", i%53)
	return engine.Event{
		TemplateID: template, TemplatePath: []string{"http/cves/2024/x.yaml", "http/exposures/y.yaml"}[i%2], Host: host,
		Type:          "http",
		MatchedAt:     fmt.Sprintf("https://%s/p/%d?token=%d", net.JoinHostPort(host, strconv.Itoa(8000+i%11)), i, i),
		MatcherStatus: true, Timestamp: time.Now().UTC(), IP: []string{"192.0.2.1", "10.0.0.1"}[i%2],
		Request: "GET / HTTP/1.1\r\n", Response: "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 200),
		Info: syntax.Info{
			Name: "Weakness of kind " + template, Severity: severities[i%len(severities)],
			Tags:   []string{"t" + strconv.Itoa(i%13), "all"},
			Author: []string{"a"},
		},
	}
}
