package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Numbers of distinct values, for 1,000,000 findings.
const (
	domains   = 500
	hosts     = 20_000
	templates = 4_000
	tags      = 300
)

var (
	severities = []syntax.Severity{"info", "info", "info", "info", "low", "low", "medium", "medium", "high", "critical",
		"unknown"}
	folders = []string{"http/cves/2019", "http/cves/2021", "http/cves/2024", "http/exposures", "http/misconfiguration",
		"http/technologies", "dns", "ssl", "network/detection"}
	ports = []string{"443", "443", "443", "80", "80", "8080", "8443", "3000", "9200", "22"}
)

// event is the i-th of many different events, about 1.2 KB each. Few hosts and templates have many of
// them, and many have few.
func event(i int, at time.Time) engine.Event {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	host := few(r, hosts)
	template := few(r, templates)
	t := rand.New(rand.NewPCG(uint64(template), 11)) // values that all findings of the template share
	folder, severity := folders[t.IntN(len(folders))], severities[t.IntN(len(severities))]
	id := "weakness-" + strconv.Itoa(template)
	name, port := fmt.Sprintf("h%d.d%d.example.com", host, host%domains), ports[r.IntN(len(ports))]
	at0 := fmt.Sprintf("https://%s/app/%d/item?id=%d", net.JoinHostPort(name, port), i, r.IntN(1000))
	e := engine.Event{
		Host: name, Port: port, Type: strings.SplitN(folder, "/", 2)[0], TemplateID: id,
		TemplatePath: folder + "/" + id + ".yaml", MatchedAt: at0, Path: "/app",
		MatcherStatus: true, Timestamp: at, IP: fmt.Sprintf("192.0.2.%d", host%256),
		CurlCommand: "curl -X 'GET' '" + at0 + "'",
		Request: "GET /app/" + strconv.Itoa(i) + "/item HTTP/1.1\r\nHost: " + name +
			"\r\nAccept: */*\r\nUser-Agent: Mozilla/5.0\r\n\r\n",
		Response: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>" + strings.Repeat("words of a page ", 20) +
			"</body></html>",
		Info: syntax.Info{
			Name: "Weakness " + strconv.Itoa(template) + " of the " + folder + " kind", Author: []string{"ada", "bob"},
			Severity:       severity,
			Tags:           []string{"all", "tag" + strconv.Itoa(few(t, tags)), "tag" + strconv.Itoa(few(t, tags))},
			Description:    strings.Repeat("What it is and why it matters. ", 5),
			Reference:      []string{"https://example.com/weakness/" + id},
			Classification: &syntax.Classification{CVSSScore: float64(t.IntN(100)) / 10, CWEID: []string{"cwe-200"}},
		},
	}
	if host%9 == 0 {
		e.IP = fmt.Sprintf("10.0.0.%d", host%256)
	}
	if r.IntN(50) == 0 {
		e.IssueTrackers = map[string]engine.IssueTracker{"github": {ID: strconv.Itoa(i),
			URL: "https://example.com/issues/" + strconv.Itoa(i)}}
	}
	return e
}

// few draws a number below n, low ones more often.
func few(r *rand.Rand, n int) int {
	x := r.Float64()
	return int(x * x * float64(n))
}
