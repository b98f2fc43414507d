package packages

import "github.com/vedette-sec/vedette/internal/importer/kit"

var openvexStates = map[string]kit.Status{
	"not_affected": kit.NotAffected, "affected": kit.Open, "fixed": kit.Fixed, "under_investigation": kit.Open,
}

// openvex reads the statements of a document: one record for each product. It has no severities.
func openvex() kit.Format {
	return kit.Format{
		Name: "openvex", Title: "OpenVEX", Tool: "openvex", Kinds: []string{"JSON"}, Class: kit.ClassPackage, Twice: true,
		Example: "vexctl create … > report.json",
		Signs:   []string{"json:@context json:statements", "json:statements[].vulnerability json:statements[].status"},
		Read: func(in *kit.Input, out *kit.Out) error {
			seen := ""
			if err := in.JSON(kit.Routes{"timestamp": keep(&seen)}); err != nil {
				return err
			}
			out.Report("", "", kit.Time(seen))
			return in.JSON(kit.Routes{"statements[]": func(v kit.Value) error {
				products := v.List("products")
				if one := v.Get("products.0"); len(products) == 0 || !one.Exists() {
					return out.Reject(v.Line, v.Position, "it names no product")
				}
				for _, p := range products {
					if err := out.Add(openvexRecord(v, p)); err != nil {
						return err
					}
				}
				return nil
			}})
		},
	}
}

func openvexRecord(v, product kit.Value) kit.Record {
	r := v.Record()
	vuln := v.Sub("vulnerability")
	r.Check = kit.First(vuln.Text("name"), vuln.Text("@this"), vuln.Text(`\@id`))
	identify(&r, append(vuln.Texts("aliases"), r.Check)...)
	r.Description = kit.Join("\n", vuln.Text("description"), v.Text("impact_statement"))
	r.Remediation = v.Text("action_statement")
	r.Status = openvexStates[v.Text("status")]
	r.StatusText = kit.Join(": ", v.Text("status"), v.Text("justification"))
	id := kit.First(product.Text("identifiers.purl"), product.Text(`\@id`), product.Text("@this"))
	r.Place.Package = kit.PURL(id)
	for _, sub := range product.List("subcomponents") {
		r.Place.Component = id
		r.Place.Package = kit.PURL(kit.First(sub.Text("identifiers.purl"), sub.Text(`\@id`), sub.Text("@this")))
		break
	}
	r.Title = r.Check + " in " + r.Place.Package.Name
	r.SeenAt = kit.Time(v.Text("timestamp"))
	r.Reference = v.Text(`\@id`)
	return r
}
