package web

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

func ffuf() kit.Format {
	return kit.Format{
		Name: "ffuf", Title: "ffuf", Tool: "ffuf", Kinds: []string{"JSON"}, Class: kit.ClassExposure,
		Example: "ffuf -u URL/FUZZ -w words.txt -of json -o report.json",
		Signs:   []string{"json:commandline json:results json:time", "json:commandline json:results json:config"},
		Read: func(in *kit.Input, out *kit.Out) error {
			return in.JSON(kit.Routes{
				"time": func(v kit.Value) error {
					out.Report("", "", kit.Time(v.String()))
					return nil
				},
				"results[]": func(v kit.Value) error {
					if v.Text("url") == "" {
						return out.Reject(v.Line, v.Position, "it has no url")
					}
					return out.Add(ffufRecord(v))
				},
			})
		},
	}
}

func ffufRecord(v kit.Value) kit.Record {
	r := v.Record()
	r.Check, r.Title = "content-discovery", "Content found: "+v.Text("url")
	r.Severity, r.Status = kit.Info, kit.Open
	r.Place.URL = v.Text("url")
	var facts []string
	for _, name := range []string{"status", "length", "words", "lines", "content-type", "redirectlocation"} {
		if t := v.Text(name); t != "" {
			facts = append(facts, name+": "+t)
		}
	}
	_ = v.Each("input", func(key string, word kit.Value) error {
		if key != "FFUFHASH" {
			facts = append(facts, key+": "+word.String())
		}
		return nil
	})
	r.Description = strings.Join(facts, "\n")
	r.Reference = v.Text("input.FFUFHASH")
	return r
}
