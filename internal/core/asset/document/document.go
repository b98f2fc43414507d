// Package document writes an asset as the JSON document that API answers and exported files
// share (specification, EnumerationContent).
package document

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
)

// EnumerationContent is one asset (specification, EnumerationContent).
type EnumerationContent struct {
	EnumerationID     string                     `json:"enumeration_id" doc:"The enumeration that found it."`
	EnumerationName   string                     `json:"enumeration_name,omitempty" doc:"The name of that enumeration."`
	Name              string                     `json:"name" doc:"Host, or host and port."`
	CreatedAt         time.Time                  `json:"created_at" doc:"When it was seen first."`
	UpdatedAt         time.Time                  `json:"updated_at" doc:"When it became as it is."`
	ID                int64                      `json:"id" doc:"The asset's id."`
	Labels            []string                   `json:"labels" doc:"Its labels."`
	CNAME             []string                   `json:"cname" doc:"The chain of its canonical names."`
	Host              string                     `json:"host" doc:"A name or an address."`
	Port              int                        `json:"port,omitempty" doc:"The open port; absent where the host by itself was seen."`
	IP                []string                   `json:"ip" doc:"Its addresses."`
	StatusCode        int                        `json:"status_code,omitempty" doc:"The HTTP status that it answers with."`
	ContentLength     int64                      `json:"content_length,omitempty" doc:"The length of its answer's body in bytes."`
	Vulnerabilities   int64                      `json:"vulnerabilities,omitempty" doc:"How many findings there are at this host and port; only of a single asset."`
	Title             string                     `json:"title,omitempty" doc:"The title of its page."`
	Technologies      []string                   `json:"technologies" doc:"What it runs, with versions where they are known."`
	Webserver         string                     `json:"webserver,omitempty" doc:"What its server calls itself."`
	Method            string                     `json:"method,omitempty" doc:"The HTTP method that was used."`
	IsNew             bool                       `json:"is_new" doc:"The latest run of its enumeration saw it first."`
	Type              string                     `json:"type" enum:"host,port,http" doc:"What it is: a host by itself, an open port, or one that speaks HTTP."`
	AssetHash         string                     `json:"asset_hash,omitempty" doc:"Of host, port and protocol: the same in every enumeration."`
	TechnologyDetails map[string]AssetTechnology `json:"technology_details,omitempty" doc:"What is known of its technologies, by name."`
	ScreenshotPath    string                     `json:"screenshot_path,omitempty" doc:"Where its picture is, on this server."`
	Favicon           string                     `json:"favicon,omitempty" doc:"The hash of its favicon: MurmurHash3 of its base64, as a number."`
	FaviconBody       string                     `json:"favicon_body,omitempty" doc:"Not kept; where the favicon was is in extended_metadata."`
	CDNName           string                     `json:"cdn_name,omitempty" doc:"The content delivery network in front of it."`
	ChainStatusCodes  []string                   `json:"chain_status_codes,omitempty" doc:"The statuses of the redirects that were followed, in order."`
	DomainName        string                     `json:"domain_name,omitempty" doc:"Its registered domain."`
	RedirectLocation  string                     `json:"redirect_location,omitempty" doc:"Where it redirects to."`
	ASN               *AssetASN                  `json:"asn,omitempty" doc:"The network that announces its address."`
	TLSSerialNumber   string                     `json:"tls_serial_number,omitempty" doc:"The serial number of its certificate."`
	TLSSubjectOrg     string                     `json:"tls_subject_org,omitempty" doc:"The organisation that the certificate names."`
	TLSIssuerOrg      string                     `json:"tls_issuer_org,omitempty" doc:"The organisation that issued the certificate."`
	TLSExpired        *bool                      `json:"tls_expired,omitempty" doc:"The certificate has expired."`
	TLSNotBefore      *time.Time                 `json:"tls_not_before,omitempty" doc:"From when the certificate is good."`
	TLSSelfSigned     *bool                      `json:"tls_self_signed,omitempty" doc:"The certificate signs itself."`
	TLSMismatched     *bool                      `json:"tls_mismatched,omitempty" doc:"The certificate is of another name."`
	TLSRevoked        *bool                      `json:"tls_revoked,omitempty" doc:"The certificate was revoked."`
	TLSUntrusted      *bool                      `json:"tls_untrusted,omitempty" doc:"No known authority vouches for the certificate."`
	TLSSubjectCN      string                     `json:"tls_subject_cn,omitempty" doc:"The common name of the certificate."`
	TLSSubjectAN      []string                   `json:"tls_subject_an,omitempty" doc:"The other names of the certificate."`
	TLSNotAfter       *time.Time                 `json:"tls_not_after,omitempty" doc:"Until when the certificate is good."`
	Body              string                     `json:"body,omitempty" doc:"The beginning of its answer's body; not in lists."`
	ExtendedMetadata  map[string]any             `json:"extended_metadata" doc:"What else was seen: protocol, service, version, DNS records, headers, WAF, TLS version and cipher, endpoints; when it was seen last, and whether it is missing."`
	SourceType        string                     `json:"source_type,omitempty" doc:"What the enumeration looks at, as discovery or cloud."`
	Source            []AssetSource              `json:"source" doc:"Who named it."`
	IsInternal        bool                       `json:"is_internal" doc:"Its address is not of the public internet."`
}

// AssetTechnology is what is known of a technology.
type AssetTechnology struct {
	Description string   `json:"description,omitempty" doc:"What it is."`
	Website     string   `json:"website,omitempty" doc:"Where more is written."`
	Icon        string   `json:"icon,omitempty" doc:"The name of its icon."`
	Categories  []string `json:"categories,omitempty" doc:"What kind of thing it is."`
}

// AssetASN is the network that announces an address.
type AssetASN struct {
	Country string   `json:"as_country" doc:"Its country."`
	Name    string   `json:"as_name" doc:"Its name."`
	Number  string   `json:"as_number" doc:"Its number, as AS64496."`
	Range   []string `json:"as_range" doc:"The networks it announces."`
}

// AssetSource says who named an asset.
type AssetSource struct {
	Source   string            `json:"source" doc:"The source, as crtsh."`
	Metadata map[string]string `json:"metadata" doc:"What it said."`
}

// Of is an asset as clients know it. whole: with what lists leave out.
func Of(a asset.Asset, whole bool) EnumerationContent {
	c := EnumerationContent{
		EnumerationID: a.EnumerationID, EnumerationName: a.Enumeration, Name: a.Host, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, ID: a.ID, Labels: list(a.Labels),
		CNAME: list(a.CNAME), Host: a.Host, Port: a.Port, IP: list(a.IP), StatusCode: a.StatusCode, ContentLength: a.ContentLength, Title: a.Title,
		Technologies: list(a.Technologies), Webserver: a.Webserver, Method: a.Method, IsNew: a.IsNew, Type: "host", AssetHash: a.Hash, Favicon: a.Favicon,
		CDNName: a.CDN, ChainStatusCodes: a.Chain, DomainName: a.Domain, RedirectLocation: a.Redirect, SourceType: a.SourceType, IsInternal: a.IsInternal,
		Source: make([]AssetSource, len(a.Sources)), ExtendedMetadata: metadataOf(a, whole),
	}
	switch {
	case a.URL != "":
		c.Type = "http"
	case a.Port > 0:
		c.Type = "port"
	}
	if a.Port > 0 {
		c.Name = net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	}
	if a.HasScreenshot {
		c.ScreenshotPath = fmt.Sprintf("/v1/asset/%d/screenshot", a.ID)
	}
	for i, s := range a.Sources {
		c.Source[i] = AssetSource{s.Source, s.Metadata}
		if s.Metadata == nil {
			c.Source[i].Metadata = map[string]string{}
		}
	}
	for name, t := range a.Details {
		if c.TechnologyDetails == nil {
			c.TechnologyDetails = map[string]AssetTechnology{}
		}
		c.TechnologyDetails[name] = AssetTechnology{t.Description, t.Website, t.Icon, t.Categories}
	}
	if n := a.ASN; n != nil {
		c.ASN = &AssetASN{n.Country, n.Name, n.Number, list(n.Range)}
	}
	if t := a.TLS; t != nil {
		c.TLSSerialNumber, c.TLSSubjectOrg, c.TLSIssuerOrg, c.TLSSubjectCN, c.TLSSubjectAN = t.Serial, t.SubjectOrg, t.IssuerOrg, t.SubjectCN, t.SubjectAN
		c.TLSExpired, c.TLSSelfSigned, c.TLSMismatched, c.TLSRevoked, c.TLSUntrusted = &t.Expired, &t.SelfSigned, &t.Mismatched, &t.Revoked, &t.Untrusted
		c.TLSNotBefore, c.TLSNotAfter = &t.NotBefore, &t.NotAfter
	}
	if whole {
		c.Body = a.Body
	}
	return c
}

// metadataOf is what was seen that has no field of its own.
func metadataOf(a asset.Asset, whole bool) map[string]any {
	out := map[string]any{"last_seen": a.SeenAt, "is_missing": a.IsMissing}
	for key, value := range map[string]string{
		"protocol": a.Protocol, "service": a.Service, "version": a.Version, "url": a.URL, "waf_name": a.WAF, "body_hash": a.BodyHash, "favicon_url": a.FaviconURL,
	} {
		if value != "" {
			out[key] = value
		}
	}
	if t := a.TLS; t != nil {
		for key, value := range map[string]string{"tls_version": t.Version, "tls_cipher": t.Cipher, "jarm": t.JARM, "tls_issuer_cn": t.IssuerCN} {
			if value != "" {
				out[key] = value
			}
		}
	}
	if len(a.Records) > 0 {
		out["dns_records"] = a.Records
	}
	if len(a.Misconfiguration) > 0 {
		out["misconfiguration"] = a.Misconfiguration
	}
	if len(a.Notes) > 0 {
		out["notes"] = a.Notes
	}
	if whole {
		out["headers"], out["endpoints"] = a.Headers, list(a.Endpoints)
	}
	return out
}

func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}
