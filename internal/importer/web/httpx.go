package web

import (
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func httpx() kit.Format {
	return kit.Format{
		Name: "httpx", Title: "httpx", Tool: "httpx", Kinds: []string{"JSONL", "JSON"},
		Example: "httpx -l hosts.txt -json -o report.jsonl", Class: kit.ClassExposure, Empty: true,
		Signs: []string{"json:url json:input json:status_code", "json:[].url json:[].input json:[].status_code",
			"json:url json:input json:status-code", "json:url json:input json:failed"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.Values(func(v kit.Value) error {
				if v.Get("failed").Bool() {
					out.Ignore(1, "the server did not answer")
					return nil
				}
				if v.Text("url") == "" {
					return out.Reject(v.Line, v.Position, "it has no url")
				}
				return out.Add(httpxRecord(v))
			})
		},
	}
}

func httpxRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check = "http-service"
	r.Title = "HTTP service"
	if title := v.Text("title"); title != "" {
		r.Title += ": " + title
	}
	r.Severity, r.Status = kit.Info, kit.Open
	r.Place = kit.Place{URL: v.Text("url"), Method: v.Text("method"), Service: v.Text("scheme")}
	for _, ip := range append([]string{v.Text("host_ip"), v.Text("host")}, v.Texts("a")...) {
		if strings.Count(ip, ".") == 3 && r.Place.IP == "" && kit.IsIP(ip) {
			r.Place.IP = ip
		}
	}
	r.SeenAt = kit.Time(v.Text("timestamp"))
	r.Tags = append(v.Texts("tech"), v.Texts("technologies")...)
	status := v.Get("status_code").Int() + v.Get("status-code").Int()
	r.Evidence.Request, r.Evidence.Response = v.Text("request"), kit.First(v.Text("raw_header"), v.Text("response"))
	var facts []string
	for _, fact := range [][2]string{
		{"Status", strconv.FormatInt(status, 10)}, {"Title", v.Text("title")}, {"Server", v.Text("webserver")},
		{"Content type", v.Text("content_type")}, {"Technologies", strings.Join(r.Tags, ", ")},
		{"Location", v.Text("location")},
	} {
		if fact[1] != "" {
			facts = append(facts, fact[0]+": "+fact[1])
		}
	}
	r.Description = strings.Join(facts, "\n")
	return r
}
