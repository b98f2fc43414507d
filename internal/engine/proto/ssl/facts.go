package ssl

import (
	"context"
	"crypto/md5"  //nolint:gosec // fingerprints that people look up
	"crypto/sha1" //nolint:gosec // fingerprints that people look up
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// facts are the fields of a reply (template language 3.3), in the order of its JSON.
type facts struct {
	Timestamp  time.Time `json:"timestamp"`
	Host       string    `json:"host"`
	IP         string    `json:"ip,omitempty"`
	Port       string    `json:"port"`
	Probed     bool      `json:"probe_status"`
	Version    string    `json:"tls_version,omitempty"`
	Cipher     string    `json:"cipher,omitempty"`
	*certFacts `json:",omitempty"`
	Connection string        `json:"tls_connection,omitempty"`
	JARM       string        `json:"jarm_hash,omitempty"`
	JA3S       string        `json:"ja3s_hash,omitempty"`
	SNI        string        `json:"sni,omitempty"`
	Versions   []string      `json:"version_enum,omitempty"`
	Ciphers    []cipherFacts `json:"cipher_enum,omitempty"`
	WantsCert  bool          `json:"client_cert_required,omitempty"`
}

// cipherFacts are the suites that a server accepts in one version.
type cipherFacts struct {
	Version string `json:"version"`
	Ciphers struct {
		Weak     []string `json:"weak,omitempty"`
		Insecure []string `json:"insecure,omitempty"`
		Secure   []string `json:"secure,omitempty"`
	} `json:"ciphers"`
}

// certFacts are those of the server's own certificate.
type certFacts struct {
	Expired     bool         `json:"expired,omitempty"`
	SelfSigned  bool         `json:"self_signed,omitempty"`
	Mismatched  bool         `json:"mismatched,omitempty"`
	Revoked     bool         `json:"revoked,omitempty"`
	Untrusted   bool         `json:"untrusted,omitempty"`
	NotBefore   time.Time    `json:"not_before"`
	NotAfter    time.Time    `json:"not_after"`
	SubjectDN   string       `json:"subject_dn,omitempty"`
	SubjectCN   string       `json:"subject_cn,omitempty"`
	SubjectOrg  []string     `json:"subject_org,omitempty"`
	SubjectAN   []string     `json:"subject_an,omitempty"`
	Domains     []string     `json:"domains,omitempty"`
	Serial      string       `json:"serial,omitempty"`
	IssuerDN    string       `json:"issuer_dn,omitempty"`
	IssuerCN    string       `json:"issuer_cn,omitempty"`
	IssuerOrg   []string     `json:"issuer_org,omitempty"`
	Emails      []string     `json:"emails,omitempty"`
	Fingerprint fingerprints `json:"fingerprint_hash"`
	Wildcard    bool         `json:"wildcard_certificate,omitempty"`
}

type fingerprints struct {
	MD5    string `json:"md5"`
	SHA1   string `json:"sha1"`
	SHA256 string `json:"sha256"`
}

// certificateFacts reads the certificates of a server, its own first.
func certificateFacts(ctx context.Context, host string, chain []*x509.Certificate, staple []byte) *certFacts {
	c := chain[0]
	names := append([]string{c.Subject.CommonName}, c.DNSNames...)
	md, sha := md5.Sum(c.Raw), sha1.Sum(c.Raw) //nolint:gosec // see above
	strong := sha256.Sum256(c.Raw)
	f := &certFacts{
		Expired: time.Now().After(c.NotAfter), SelfSigned: tlsfacts.SelfSigned(c), Mismatched: !tlsfacts.Names(c, host),
		Untrusted: !knownRoot(chain), NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		SubjectDN: distinguished(c.RawSubject, c.Subject), SubjectCN: c.Subject.CommonName,
		SubjectOrg: c.Subject.Organization, SubjectAN: c.DNSNames, Serial: tlsfacts.Serial(c),
		IssuerDN: distinguished(c.RawIssuer, c.Issuer), IssuerCN: c.Issuer.CommonName, IssuerOrg: c.Issuer.Organization,
		Emails:      c.EmailAddresses,
		Fingerprint: fingerprints{hex.EncodeToString(md[:]), hex.EncodeToString(sha[:]), hex.EncodeToString(strong[:])},
	}
	f.Revoked, _ = tlsfacts.Revoked(ctx, chain, staple, time.Now(), nil)
	domains := map[string]bool{}
	for _, name := range names {
		f.Wildcard = f.Wildcard || strings.Contains(name, "*.")
		if name != "" {
			domains[strings.TrimPrefix(name, "*.")] = true
		}
	}
	f.Domains = slices.Sorted(maps.Keys(domains))
	return f
}

// knownRoot is false for a chain with an authority that vouches for itself and is not known to this system.
func knownRoot(chain []*x509.Certificate) bool {
	for _, c := range chain {
		if !c.IsCA || !tlsfacts.SelfSigned(c) {
			continue
		}
		if _, err := c.Verify(x509.VerifyOptions{CurrentTime: c.NotBefore.Add(time.Second),
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			return false
		}
	}
	return true
}

// attributes are the short names of what a distinguished name is made of.
var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "street",
	"2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.13": "description", "2.5.4.15": "businessCategory",
	"2.5.4.17": "postalCode", "2.5.4.4": "SN", "2.5.4.41": "name", "2.5.4.42": "GN", "2.5.4.43": "initials",
	"2.5.4.46": "dnQualifier", "2.5.4.97": "organizationIdentifier",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC", "1.2.840.113549.1.9.1": "emailAddress",
	"1.2.840.113549.1.9.2": "unstructuredName", "1.3.6.1.4.1.311.60.2.1.1": "jurisdictionL",
	"1.3.6.1.4.1.311.60.2.1.2": "jurisdictionST", "1.3.6.1.4.1.311.60.2.1.3": "jurisdictionC",
}

// common are the attributes that a distinguished name shows once; nuclei repeats all others at its end, and templates
// are written for that.
var common = []string{"CN", "serialNumber", "C", "L", "ST", "street", "O", "OU", "postalCode"}

// distinguished writes a distinguished name the way templates expect it: the last attribute first.
func distinguished(raw []byte, parsed pkix.Name) string {
	var sequence pkix.RDNSequence
	if rest, err := asn1.Unmarshal(raw, &sequence); err != nil || len(rest) > 0 {
		return parsed.String()
	}
	var parts, again []string
	for _, set := range slices.Backward(sequence) {
		for _, a := range set {
			name := attributes[a.Type.String()]
			if name == "" {
				name = a.Type.String()
			}
			part := name + "=" + escaped(fmt.Sprint(a.Value))
			parts = append(parts, part)
			if !slices.Contains(common, name) {
				again = append(again, part)
			}
		}
	}
	return strings.Join(append(parts, again...), ", ")
}

// escaped is a value in a distinguished name (RFC 4514).
func escaped(value string) string {
	var b strings.Builder
	for i, c := range value {
		if strings.ContainsRune(`,+"\<>;`, c) || c == ' ' && (i == 0 || i == len(value)-1) || c == '#' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// fields are the facts as operators see them: those that are not empty, and all of them as JSON in "response".
func (f *facts) fields() (map[string]any, string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, "", err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, "", err
	}
	for _, name := range []string{"timestamp", "not_before", "not_after"} {
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(fields[name])); err == nil {
			fields[name] = at.UTC().String()
		}
	}
	for name, value := range fields { // expressions know lists of strings
		list, ok := value.([]any)
		texts := make([]string, 0, len(list))
		for _, item := range list {
			if text, isText := item.(string); isText {
				texts = append(texts, text)
			}
		}
		if ok && len(texts) == len(list) {
			fields[name] = texts
		}
	}
	if f.certFacts != nil { // as nuclei prints it; templates that read one hash look into the response
		fields["fingerprint_hash"] = fmt.Sprint(f.Fingerprint)
	}
	fields["type"], fields["response"] = "ssl", string(text)
	return fields, string(text), nil
}
