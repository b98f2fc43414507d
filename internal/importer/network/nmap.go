package network

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func nmap() kit.Format {
	return kit.Format{
		Name: "nmap", Title: "Nmap XML", Tool: "nmap", Kinds: []string{"XML"},
		Example: "nmap -sV --script vulners -oX report.xml HOST", Class: kit.ClassExposure,
		Signs: []string{"xml:nmaprun !xml:nmaprun@scanner=masscan"},
		Read:  readNmap,
	}
}

// nmapHost is the host whose ports are being read.
type nmapHost struct {
	name, ip string
	user     bool // the name is the one that was scanned, not one that its address leads back to
}

func readNmap(in *kit.Input, out *kit.Out) error {
	var host nmapHost
	return in.XML(kit.Elements{
		"nmaprun<": func(n *kit.Node) error {
			out.Report("", n.Attr("version"), kit.Time(n.Attr("start")))
			return nil
		},
		"nmaprun/host<": func(*kit.Node) error {
			host = nmapHost{}
			return nil
		},
		"nmaprun/host/address": func(n *kit.Node) error {
			if n.Attr("addrtype") != "mac" && host.ip == "" {
				host.ip = n.Attr("addr")
			}
			return nil
		},
		"nmaprun/host/hostnames/hostname": func(n *kit.Node) error {
			if user := n.Attr("type") == "user"; host.name == "" || user && !host.user {
				host.name, host.user = n.Attr("name"), user
			}
			return nil
		},
		"nmaprun/host/ports/extraports": func(n *kit.Node) error {
			out.Ignore(kit.Int(n.Attr("count")), "the port is not open")
			return nil
		},
		"nmaprun/host/ports/port": func(n *kit.Node) error { return nmapPort(out, host, n) },
		"nmaprun/host/hostscript/script": func(n *kit.Node) error {
			place := kit.Place{Host: host.name, IP: host.ip}
			found, err := nmapScript(out, n, place)
			if err == nil && found == 0 {
				out.Ignore(1, "the output of a script names no vulnerability")
			}
			return err
		},
	})
}

func nmapPort(out *kit.Out, host nmapHost, n *kit.Node) error {
	if n.Find("state").Attr("state") != "open" {
		out.Ignore(1, "the port is not open")
		return nil
	}
	service := n.Find("service")
	r := openPort(n.Record(), host.name, host.ip, kit.Int(n.Attr("portid")), n.Attr("protocol"), service.Attr("name"))
	r.Confidence = service.Attr("conf")
	product := kit.Join(" ", service.Attr("product"), service.Attr("version"), service.Attr("extrainfo"))
	var scripts []string
	for _, s := range n.All("script") {
		scripts = append(scripts, kit.Join(": ", s.Attr("id"), s.Attr("output")))
	}
	r.Description = kit.Join("\n", product, strings.Join(service.Texts("cpe"), "\n"))
	r.Evidence.Matched = strings.Join(scripts, "\n")
	if err := out.Add(r); err != nil {
		return err
	}
	place := r.Place
	for _, s := range n.All("script") {
		if _, err := nmapScript(out, s, place); err != nil {
			return err
		}
	}
	return nil
}

// nmapScript adds the vulnerabilities that a script found: those of vulners, a table of ids and scores for each
// product, and those of scripts that use Nmap's library for vulnerabilities, a table for each with its state.
func nmapScript(out *kit.Out, n *kit.Node, place kit.Place) (found int, err error) {
	for _, table := range n.All("table") {
		for _, entry := range table.All("table") {
			if id := elem(entry, "id"); id != "" && elem(entry, "cvss") != "" {
				found++
				r := entry.Record()
				r.Check, r.Title, r.Class = id, id, kit.ClassCVE
				if product := table.Attr("key"); product != "" {
					r.Title += " in " + product
					r.Place.Component = product
				}
				component := r.Place.Component
				r.CVEs = kit.CVEs(id)
				if len(r.CVEs) == 0 {
					r.OtherIDs = []string{id}
				}
				score := kit.Float(elem(entry, "cvss"))
				r.CVSS, r.Severity = kit.Score("3.1", "", score), kit.SeverityOfScore(score)
				r.ToolSeverity = elem(entry, "cvss")
				r.Place = place
				r.Place.Component = component
				r.References = []string{"https://vulners.com/" + elem(entry, "type") + "/" + id}
				if err := out.Add(r); err != nil {
					return found, err
				}
			}
		}
		if state := elem(table, "state"); state != "" && elem(table, "title") != "" {
			found++
			if err := nmapVulnerability(out, n, table, place, state); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func nmapVulnerability(out *kit.Out, script, table *kit.Node, place kit.Place, state string) error {
	if strings.HasPrefix(state, "NOT VULNERABLE") {
		out.Ignore(1, "the script says that the host is not vulnerable")
		return nil
	}
	r := table.Record()
	r.Check, r.Matcher, r.Title = script.Attr("id"), table.Attr("key"), elem(table, "title")
	r.Class, r.Place, r.Status, r.StatusText = kit.ClassCVE, place, kit.Open, state
	var ids, texts []string
	for _, t := range table.All("table") {
		for _, e := range t.All("elem") {
			switch t.Attr("key") {
			case "ids":
				ids = append(ids, e.Text())
			case "description", "extra_info":
				texts = append(texts, e.Text())
			case "refs":
				r.References = append(r.References, e.Text())
			}
		}
	}
	r.CVEs = kit.CVEs(append(ids, r.Matcher)...)
	r.Description, r.Evidence.Matched = strings.Join(texts, "\n"), script.Attr("output")
	for _, t := range table.All("table") {
		if t.Attr("key") == "scores" {
			for _, e := range t.All("elem") {
				r.CVSS = append(r.CVSS, kit.Score("2.0", "", kit.Float(e.Text()))...)
			}
		}
	}
	r.ToolSeverity = elem(table, "risk_factor")
	r.Severity = kit.SeverityOf(r.ToolSeverity)
	return out.Add(r)
}

// elem is the text of the elem with a key.
func elem(n *kit.Node, key string) string {
	for _, e := range n.All("elem") {
		if e.Attr("key") == key {
			return e.Text()
		}
	}
	return ""
}
