package vex

import (
	"encoding/hex"
	"hash/fnv"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
)

// CycloneDX writes a CycloneDX 1.6 VEX in JSON: Head, then Append for each finding with commas between, then Tail.
type CycloneDX struct {
	Document

	products map[string]string // name by reference
}

const (
	maxProducts = 200_000 // after which findings refer to one product for all others
	others      = "product:others"
)

// Head is the beginning of the document.
func (c *CycloneDX) Head() []byte {
	c.products = map[string]string{}
	head := encode(object{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
		"serialNumber": "urn:uuid:" + c.ID, "version": 1,
		"metadata": object{
			"timestamp": stamp(c.At), "authors": []object{{"name": c.Author}},
			"tools":     object{"components": []object{{"type": "application", "name": "Vedette", "version": c.Version}}},
			"component": object{"type": "application", "bom-ref": "about:" + c.ID, "name": c.Title},
		},
	})
	return append(head[:len(head)-1], `,"vulnerabilities":[`...)
}

// Append appends the vulnerability of a finding.
func (c *CycloneDX) Append(dst []byte, f *fact.Finding) []byte {
	s := stateOf(f.Status)
	id, isCVE := vulnerability(f)
	source := object{"name": "Vedette"}
	if isCVE {
		source = object{"name": "NVD", "url": "https://nvd.nist.gov/vuln/detail/" + id}
	}
	rating := object{"severity": f.Severity, "method": "other"}
	if f.CVSS.Score > 0 {
		rating["score"] = f.CVSS.Score
	}
	if f.CVSS.Vector != "" {
		rating["method"] = map[string]string{"3.0": "CVSSv3", "3.1": "CVSSv31"}[f.CVSS.Version]
		rating["vector"] = f.CVSS.Vector
	}
	analysis := object{"state": s.cycloneDX, "detail": s.says + " " + "Seen at " + f.Place + ".",
		"firstIssued": stamp(f.CreatedAt), "lastUpdated": stamp(f.UpdatedAt)}
	if s.response != "" {
		analysis["response"] = []string{s.response}
	}
	out := object{
		"bom-ref": "finding:" + f.ID, "id": id, "source": source, "ratings": []object{rating}, "description": f.Name,
		"created": stamp(f.CreatedAt), "updated": stamp(f.UpdatedAt), "analysis": analysis,
		"affects": []object{{"ref": c.product(f)}},
		"properties": []object{
			{"name": "vedette:vuln_id", "value": f.ID},
			{"name": "vedette:vuln_hash", "value": f.Hash},
			{
				"name":  "vedette:vuln_status",
				"value": string(f.Status),
			},
			{"name": "vedette:template_id", "value": f.TemplateID},
		},
	}
	for key, text := range map[string]string{"detail": f.Description, "recommendation": f.Remediation} {
		if text != "" {
			out[key] = text
		}
	}
	if len(f.CWEs) > 0 {
		out["cwes"] = f.CWEs
	}
	var advisories []object
	for _, reference := range f.References {
		if fact.IsURL(reference) {
			advisories = append(advisories, object{"url": reference})
		}
	}
	if advisories != nil {
		out["advisories"] = advisories
	}
	return append(dst, encode(out)...)
}

// product is the reference of a finding's product.
func (c *CycloneDX) product(f *fact.Finding) string {
	name := product(f)
	sum := fnv.New128a()
	sum.Write([]byte(name))
	ref := "product:" + hex.EncodeToString(sum.Sum(nil))
	if _, known := c.products[ref]; known {
		return ref
	}
	if len(c.products) >= maxProducts {
		ref, name = others, "Other products"
	}
	c.products[ref] = name
	return ref
}

// Tail is the end of the document: the products that the vulnerabilities refer to.
func (c *CycloneDX) Tail() []byte {
	out := []byte("\n],\"components\":[")
	separator := ""
	for ref, name := range c.products {
		out = append(append(out, separator...), encode(object{"type": "application", "bom-ref": ref, "name": name})...)
		separator = ",\n"
	}
	return append(out, "]}\n"...)
}
