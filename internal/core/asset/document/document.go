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
	EnumerationID     string                     `json:"enumeration_id" doc:"Enumeration id."`
	EnumerationName   string                     `json:"enumeration_name,omitempty" doc:"Enumeration name."`
	Name              string                     `json:"name" doc:"Host, or host and port."`
	CreatedAt         time.Time                  `json:"created_at" doc:"First seen."`
	UpdatedAt         time.Time                  `json:"updated_at" doc:"Time of its last change."`
	ID                int64                      `json:"id" doc:"The asset's id."`
	Labels            []string                   `json:"labels" doc:"Its labels."`
	CNAME             []string                   `json:"cname" doc:"Its chain of canonical names."`
	Host              string                     `json:"host" doc:"A name or an address."`
	Port              int                        `json:"port,omitempty" doc:"Open port; absent for the host itself."`
	IP                []string                   `json:"ip" doc:"Its addresses."`
	StatusCode        int                        `json:"status_code,omitempty" doc:"The HTTP status that it answers with."`
	ContentLength     int64                      `json:"content_length,omitempty" doc:"Length of the response body in bytes."`
	Vulnerabilities   *int64                     `json:"vulnerabilities,omitempty" doc:"Findings at this host and port; not in lists."`
	Title             string                     `json:"title,omitempty" doc:"Title of its page."`
	Technologies      []string                   `json:"technologies" doc:"Its technologies, with versions if known."`
	Webserver         string                     `json:"webserver,omitempty" doc:"Server header."`
	Method            string                     `json:"method,omitempty" doc:"The HTTP method that was used."`
	IsNew             bool                       `json:"is_new" doc:"Whether the latest run saw it first."`
	Type              string                     `json:"type" enum:"host,port,http" doc:"host: without a port; http: a port with HTTP."`
	AssetHash         string                     `json:"asset_hash,omitempty" doc:"Hash of host, port and protocol: the same in every enumeration."`
	TechnologyDetails map[string]AssetTechnology `json:"technology_details,omitempty" doc:"Details of its technologies, by name."`
	ScreenshotPath    string                     `json:"screenshot_path,omitempty" doc:"Path of its screenshot on this server."`
	Favicon           string                     `json:"favicon,omitempty" doc:"MurmurHash3 of the favicon's base64, as a number."`
	CDNName           string                     `json:"cdn_name,omitempty" doc:"Its content delivery network."`
	ChainStatusCodes  []string                   `json:"chain_status_codes,omitempty" doc:"Statuses of the followed redirects, in order."`
	DomainName        string                     `json:"domain_name,omitempty" doc:"Its registered domain."`
	RedirectLocation  string                     `json:"redirect_location,omitempty" doc:"Target of its redirect."`
	ASN               *AssetASN                  `json:"asn,omitempty" doc:"The AS of its address."`
	TLSSerialNumber   string                     `json:"tls_serial_number,omitempty" doc:"Serial number of the certificate."`
	TLSSubjectOrg     string                     `json:"tls_subject_org,omitempty" doc:"Organisation of the certificate's subject."`
	TLSIssuerOrg      string                     `json:"tls_issuer_org,omitempty" doc:"Organisation of the certificate's issuer."`
	TLSExpired        *bool                      `json:"tls_expired,omitempty" doc:"Whether the certificate has expired."`
	TLSNotBefore      *time.Time                 `json:"tls_not_before,omitempty" doc:"Start of the certificate's validity."`
	TLSSelfSigned     *bool                      `json:"tls_self_signed,omitempty" doc:"Whether the certificate is self-signed."`
	TLSMismatched     *bool                      `json:"tls_mismatched,omitempty" doc:"Whether the certificate is for another name."`
	TLSRevoked        *bool                      `json:"tls_revoked,omitempty" doc:"Whether the certificate was revoked."`
	TLSUntrusted      *bool                      `json:"tls_untrusted,omitempty" doc:"Whether no known authority signed the certificate."`
	TLSSubjectCN      string                     `json:"tls_subject_cn,omitempty" doc:"Subject common name of the certificate."`
	TLSSubjectAN      []string                   `json:"tls_subject_an,omitempty" doc:"Subject alternative names of the certificate."`
	TLSNotAfter       *time.Time                 `json:"tls_not_after,omitempty" doc:"End of the certificate's validity."`
	Body              string                     `json:"body,omitempty" doc:"Beginning of the response body; not in lists."`
	ExtendedMetadata  map[string]any             `json:"extended_metadata" doc:"Protocol, service, version, DNS records, headers, WAF, TLS version and cipher, endpoints, last_seen and is_missing."`
	SourceType        string                     `json:"source_type,omitempty" doc:"Type of the enumeration, such as discovery."`
	Source            []AssetSource              `json:"source" doc:"Its sources."`
	IsInternal        bool                       `json:"is_internal" doc:"Whether its address is internal."`
}

// AssetTechnology is what is known of a technology.
type AssetTechnology struct {
	Description string   `json:"description,omitempty" doc:"Description."`
	Website     string   `json:"website,omitempty" doc:"Link."`
	Icon        string   `json:"icon,omitempty" doc:"Icon name."`
	Categories  []string `json:"categories,omitempty" doc:"Categories."`
}

// AssetASN is the network that announces an address.
type AssetASN struct {
	Country string   `json:"as_country" doc:"Its country."`
	Name    string   `json:"as_name" doc:"Its name."`
	Number  string   `json:"as_number" doc:"AS number, such as AS64496."`
	Range   []string `json:"as_range" doc:"Its networks."`
}

// AssetSource is a source that named an asset.
type AssetSource struct {
	Source   string            `json:"source" doc:"Source, such as crtsh."`
	Metadata map[string]string `json:"metadata" doc:"Details from the source."`
}

// Of converts an asset; whole adds the fields that lists leave out.
func Of(a asset.Asset, whole bool) EnumerationContent {
	c := EnumerationContent{
		EnumerationID: a.EnumerationID, EnumerationName: a.Enumeration, Name: a.Host, CreatedAt: a.CreatedAt,
		UpdatedAt: a.UpdatedAt, ID: a.ID, Labels: list(a.Labels),
		CNAME: list(a.CNAME), Host: a.Host, Port: a.Port, IP: list(a.IP), StatusCode: a.StatusCode,
		ContentLength: a.ContentLength, Title: a.Title,
		Technologies: list(a.Technologies), Webserver: a.Webserver, Method: a.Method, IsNew: a.IsNew, Type: "host",
		AssetHash: a.Hash, Favicon: a.Favicon,
		CDNName: a.CDN, ChainStatusCodes: a.Chain, DomainName: a.Domain, RedirectLocation: a.Redirect,
		SourceType: a.SourceType, IsInternal: a.IsInternal,
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
		c.TLSSerialNumber, c.TLSSubjectOrg, c.TLSIssuerOrg, c.TLSSubjectCN, c.TLSSubjectAN = t.Serial, t.SubjectOrg,
			t.IssuerOrg, t.SubjectCN, t.SubjectAN
		c.TLSExpired, c.TLSSelfSigned, c.TLSMismatched, c.TLSRevoked, c.TLSUntrusted = &t.Expired, &t.SelfSigned,
			&t.Mismatched, &t.Revoked, &t.Untrusted
		c.TLSNotBefore, c.TLSNotAfter = &t.NotBefore, &t.NotAfter
	}
	if whole {
		c.Body = a.Body
	}
	return c
}

// metadataOf has the observed values without a field of their own.
func metadataOf(a asset.Asset, whole bool) map[string]any {
	out := map[string]any{"last_seen": a.SeenAt, "is_missing": a.IsMissing}
	for key, value := range map[string]string{
		"protocol": a.Protocol, "service": a.Service, "version": a.Version, "url": a.URL, "waf_name": a.WAF,
		"body_hash": a.BodyHash, "favicon_url": a.FaviconURL,
	} {
		if value != "" {
			out[key] = value
		}
	}
	if t := a.TLS; t != nil {
		for key, value := range map[string]string{"tls_version": t.Version, "tls_cipher": t.Cipher, "jarm": t.JARM,
			"tls_issuer_cn": t.IssuerCN} {
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
