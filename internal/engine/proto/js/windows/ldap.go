package windows

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/go-ldap/ldap/v3"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// LDAP is the module nuclei/ldap.
func LDAP(h *host.Host) *goja.Object {
	client := h.Class(func(a *host.Args) (*goja.Object, error) {
		return newDirectory(h, a)
	})
	values := map[string]goja.Value{
		"Client": client, "NewClient": client,
		"Config": h.Class(func(*host.Args) (*goja.Object, error) {
			o, _ := h.Value(host.Fields{
				{Name: "Timeout", Value: 0}, {Name: "ServerName", Value: ""}, {Name: "Upgrade", Value: false},
			}).(*goja.Object)
			return o, nil
		}),
		"JoinFilters": h.Func(func(a *host.Args) (any, error) {
			parts := make([]string, a.Len())
			for i := range parts {
				parts[i] = a.Text(i)
			}
			return "(&" + strings.Join(parts, "") + ")", nil
		}),
		"NegativeFilter":    h.Func(func(a *host.Args) (any, error) { return "(!" + a.Text(0) + ")", nil }),
		"DecodeADTimestamp": h.Func(func(a *host.Args) (any, error) { return adTime(a.Text(0)), nil }),
		"DecodeSID":         h.Func(func(a *host.Args) (any, error) { return decodeSID(a.Text(0)) }),
		"DecodeZuluTimestamp": h.Func(func(a *host.Args) (any, error) {
			at, err := time.Parse(time.RFC3339, a.Text(0))
			if err != nil {
				return "", nil //nolint:nilerr // as nuclei answers
			}
			return at.Format(shownTime), nil
		}),
	}
	for name, filter := range filters {
		values[name] = h.VM.ToValue(filter)
	}
	return h.Module(values)
}

const shownTime = "2006-01-02 3:4:5 pm"

// adTime is a time of Active Directory as a text.
func adTime(text string) string {
	n, _ := strconv.ParseInt(text, 10, 64)
	if n == 0 || n == 1<<63-1 {
		return "Not Set"
	}
	return time.Unix(n/1e7-11644473600, 0).UTC().Format(shownTime)
}

// decodeSID is an identifier of Windows, given as its bytes, as a text.
func decodeSID(text string) (string, error) {
	b := []byte(text)
	if len(b) < 8 || len(b) < 8+4*int(b[1]) {
		return "", errors.New("the bytes are no SID")
	}
	authority := uint64(0)
	for _, c := range b[2:8] {
		authority = authority<<8 | uint64(c)
	}
	var sid strings.Builder
	fmt.Fprintf(&sid, "S-%d-%d", b[0], authority)
	for i := range int(b[1]) {
		fmt.Fprintf(&sid, "-%d", le.Uint32(b[8+4*i:]))
	}
	return sid.String(), nil
}

func flag(bit int) string { return fmt.Sprintf("(userAccountControl:1.2.840.113556.1.4.803:=%d)", bit) }

// filters are those that scripts use by name.
var filters = map[string]string{
	"FilterIsPerson": "(objectCategory=person)", "FilterIsGroup": "(objectCategory=group)",
	"FilterIsComputer": "(objectCategory=computer)", "FilterIsAdmin": "(adminCount=1)",
	"FilterHasServicePrincipalName": "(servicePrincipalName=*)", "FilterLogonScript": flag(1),
	"FilterAccountDisabled": flag(2), "FilterAccountEnabled": "(!" + flag(2) + ")", "FilterHomedirRequired": flag(8),
	"FilterLockout": flag(16), "FilterPasswordNotRequired": flag(32), "FilterPasswordCantChange": flag(64),
	"FilterCanSendEncryptedPassword": flag(128), "FilterIsDuplicateAccount": flag(256), "FilterIsNormalAccount": flag(512),
	"FilterInterdomainTrustAccount": flag(2048), "FilterWorkstationTrustAccount": flag(4096),
	"FilterServerTrustAccount": flag(8192), "FilterDontExpirePassword": flag(65536),
	"FilterMnsLogonAccount":   flag(131072),
	"FilterSmartCardRequired": flag(262144), "FilterTrustedForDelegation": flag(524288),
	"FilterNotDelegated":  flag(1048576),
	"FilterUseDesKeyOnly": flag(2097152), "FilterDontRequirePreauth": flag(4194304),
	"FilterPasswordExpired":            flag(8388608),
	"FilterTrustedToAuthForDelegation": flag(16777216),
	"FilterPartialSecretsAccount":      flag(67108864),
}

// questions are the methods that search with filters.
var questions = map[string][]string{
	"GetADUsers": {"FilterIsPerson"}, "GetADActiveUsers": {"FilterIsPerson", "FilterAccountEnabled"},
	"GetADUserWithNeverExpiringPasswords": {"FilterIsPerson", "FilterDontExpirePassword"},
	"GetADUserTrustedForDelegation":       {"FilterIsPerson", "FilterTrustedForDelegation"},
	"GetADUserWithPasswordNotRequired":    {"FilterIsPerson", "FilterPasswordNotRequired"},
	"GetADGroups":                         {"FilterIsGroup"},
	"GetADDCList":                         {"FilterIsComputer", "FilterAccountEnabled", "FilterServerTrustAccount"},
	"GetADAdmins":                         {"FilterIsPerson", "FilterAccountEnabled", "FilterIsAdmin"},
	"GetADUserKerberoastable":             {"FilterIsPerson", "FilterAccountEnabled", "FilterHasServicePrincipalName"},
	"GetADUserAsRepRoastable":             {"FilterIsPerson", "FilterDontRequirePreauth"},
}

// directory is a connection to a server.
type directory struct {
	conn        *ldap.Conn
	realm, base string
}

func newDirectory(h *host.Host, a *host.Args) (*goja.Object, error) {
	d := &directory{realm: a.Text(1), base: "dc=" + strings.Join(strings.Split(a.Text(1), "."), ",dc=")}
	if d.realm == "" {
		return nil, errors.New("the realm is empty")
	}
	connect := h.Waits(func(a *host.Args) (any, error) { return nil, d.connect(h, a) })
	if _, err := connect(a); err != nil {
		return nil, err
	}
	methods := host.Methods{
		"Authenticate": h.Waits(func(a *host.Args) (any, error) {
			err := d.conn.NTLMBind(d.realm, a.Text(0), a.Text(1))
			if err != nil && a.Text(1) == "" {
				err = d.conn.UnauthenticatedBind(a.Text(0))
			} else if err != nil {
				err = d.conn.Bind(a.Text(0), a.Text(1))
			}
			return err == nil, err
		}),
		"AuthenticateWithNTLMHash": h.Waits(func(a *host.Args) (any, error) {
			err := d.conn.NTLMBindWithHash(d.realm, a.Text(0), a.Text(1))
			return err == nil, err
		}),
		"Search": h.Waits(func(a *host.Args) (any, error) {
			var names []string
			for i := 1; i < a.Len(); i++ {
				names = append(names, a.Text(i))
			}
			if len(names) == 0 {
				return nil, errors.New("attributes cannot be empty")
			}
			return d.search("", ldap.ScopeWholeSubtree, a.Text(0), names)
		}),
		"AdvancedSearch":  h.Waits(func(a *host.Args) (any, error) { return d.advanced(a) }),
		"FindADObjects":   h.Waits(func(a *host.Args) (any, error) { return d.objects(a.Text(0)) }),
		"GetADDomainSID":  h.Waits(func(*host.Args) (any, error) { return d.sid() }),
		"CollectMetadata": h.Waits(func(*host.Args) (any, error) { return d.metadata() }),
		"GetVersion": h.Waits(func(*host.Args) (any, error) {
			found, err := d.ask("", ldap.ScopeBaseObject, "(objectClass=*)", []string{"supportedLDAPVersion"})
			if err != nil || len(found.Entries) == 0 {
				return []string{"unknown"}, err
			}
			return found.Entries[0].GetAttributeValues("supportedLDAPVersion"), nil
		}),
		"Close": func(*host.Args) (any, error) { return nil, d.conn.Close() },
	}
	for name, parts := range questions {
		all := make([]string, len(parts))
		for i, part := range parts {
			all[i] = filters[part]
		}
		filter := "(&" + strings.Join(all, "") + ")"
		methods[name] = h.Waits(func(*host.Args) (any, error) { return d.objects(filter) })
	}
	o := h.Object("ldap.Client", nil, methods)
	return o, errors.Join(o.Set("Realm", d.realm), o.Set("BaseDN", d.base))
}

// startTLS is the request of RFC 4511, 4.14, with the message number 1.
const startTLS = "\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037"

// connect connects to the URL in the first argument; the third may be a Config.
func (d *directory) connect(h *host.Host, a *host.Args) error {
	u, err := url.Parse(a.Text(0))
	if err != nil || u.Hostname() == "" {
		return errors.New("the URL of the server is none")
	}
	port := map[string]string{"ldap": "389", "": "389", "ldaps": "636"}[u.Scheme]
	if port == "" {
		return &host.Missing{Name: "ldap: " + u.Scheme + "://"}
	}
	if u.Port() != "" {
		port = u.Port()
	}
	conn, err := h.Dial("tcp", host.Address(u.Hostname(), port))
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(h.Timeout)); err != nil {
		return err
	}
	name, upgrade := u.Hostname(), false
	if cfg, ok := a.Any(2).(map[string]any); ok {
		if text, ok := cfg["ServerName"].(string); ok && text != "" {
			name = text
		}
		upgrade, _ = cfg["Upgrade"].(bool)
	}
	secure := u.Scheme == "ldaps"
	if upgrade && !secure {
		if err := d.upgrade(conn); err != nil {
			return err
		}
	}
	if upgrade || secure {
		if conn, err = tlsfacts.Client(h.Ctx, conn, name); err != nil {
			return err
		}
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	d.conn = ldap.NewConn(&ldapGuard{Conn: conn, in: bufio.NewReader(conn)}, secure || upgrade)
	d.conn.SetTimeout(h.Timeout)
	d.conn.Start()
	return nil
}

func (d *directory) upgrade(conn net.Conn) error {
	if _, err := io.WriteString(conn, startTLS); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	// An extended answer whose code is success.
	if n < 10 || answer[5] != 0x78 || answer[7] != 0x0a || answer[9] != 0 {
		return errors.New("the server does not upgrade to TLS")
	}
	return nil
}

const maxEntries = 10_000

func (d *directory) ask(base string, scope int, filter string, names []string) (*ldap.SearchResult, error) {
	return d.conn.Search(ldap.NewSearchRequest(
		base, scope, ldap.NeverDerefAliases, maxEntries, 0, false, filter, names, nil))
}

func (d *directory) search(base string, scope int, filter string, names []string) (any, error) {
	found, err := d.ask(base, scope, filter, names)
	if err != nil {
		return nil, err
	}
	return shown(found), nil
}

// advanced is AdvancedSearch(scope, aliases, size, time, typesOnly, filter, attributes, controls).
func (d *directory) advanced(a *host.Args) (any, error) {
	if controls, ok := a.Any(7).([]any); ok && len(controls) > 0 {
		return nil, &host.Missing{Name: "ldap.Client.AdvancedSearch with controls"}
	}
	names := []string{}
	list, _ := a.Any(6).([]any)
	for _, name := range list {
		names = append(names, fmt.Sprint(name))
	}
	size := a.Int(2)
	if size <= 0 || size > maxEntries {
		size = maxEntries
	}
	found, err := d.conn.Search(ldap.NewSearchRequest(
		d.base, a.Int(0), a.Int(1), size, max(0, a.Int(3)), a.Value(4).ToBoolean(), a.Text(5), names, nil))
	if err != nil {
		return nil, err
	}
	return shown(found), nil
}

func (d *directory) objects(filter string) (any, error) {
	return d.search(d.base, ldap.ScopeWholeSubtree, filter, []string{
		"distinguishedName", "sAMAccountName", "pwdLastSet", "lastLogon", "memberOf", "servicePrincipalName",
	})
}

func (d *directory) sid() (any, error) {
	found, err := d.ask("", ldap.ScopeWholeSubtree, filters["FilterServerTrustAccount"], []string{"objectSid"})
	if err != nil {
		return nil, err
	}
	for _, e := range found.Entries {
		if sid := e.GetAttributeValue("objectSid"); sid != "" {
			return decodeSID(sid)
		}
	}
	return nil, errors.New("no objectSid found")
}

func (d *directory) metadata() (any, error) {
	names := [][2]string{
		{"DefaultNamingContext", "defaultNamingContext"}, {"DomainFunctionality", "domainFunctionality"},
		{"ForestFunctionality", "forestFunctionality"}, {"DomainControllerFunctionality", "domainControllerFunctionality"},
		{"DnsHostName", "dnsHostName"},
	}
	var asked []string
	for _, name := range names {
		asked = append(asked, name[1])
	}
	found, err := d.ask("", ldap.ScopeBaseObject, "(objectClass=*)", asked)
	if err != nil {
		return nil, err
	}
	fields := host.Fields{{Name: "BaseDN", Value: d.base}, {Name: "Domain", Value: d.realm}}
	for _, name := range names {
		value := ""
		if len(found.Entries) > 0 {
			value = found.Entries[0].GetAttributeValue(name[1])
		}
		fields = append(fields, host.Field{Name: name[0], Value: value})
	}
	return fields, nil
}

// known are attributes with a field of their own, by the names of the protocol and of the field.
var known = [][2]string{
	{"currentTime", "CurrentTime"}, {"subschemaSubentry", "SubschemaSubentry"}, {"dsServiceName", "DsServiceName"},
	{"namingContexts", "NamingContexts"}, {"defaultNamingContext", "DefaultNamingContext"},
	{"schemaNamingContext", "SchemaNamingContext"}, {"configurationNamingContext", "ConfigurationNamingContext"},
	{"rootDomainNamingContext", "RootDomainNamingContext"}, {"supportedLDAPVersion", "SupportedLDAPVersion"},
	{"highestCommittedUSN", "HighestCommittedUSN"}, {"supportedSASLMechanisms", "SupportedSASLMechanisms"},
	{"dnsHostName", "DnsHostName"}, {"ldapServiceName", "LdapServiceName"}, {"serverName", "ServerName"},
	{"isSynchronized", "IsSynchronized"}, {"isGlobalCatalogReady", "IsGlobalCatalogReady"},
	{"domainFunctionality", "DomainFunctionality"}, {"forestFunctionality", "ForestFunctionality"},
	{"domainControllerFunctionality", "DomainControllerFunctionality"}, {"distinguishedName", "DistinguishedName"},
	{"sAMAccountName", "SAMAccountName"}, {"pwdLastSet", "PWDLastSet"}, {"lastLogon", "LastLogon"},
	{"memberOf", "MemberOf"}, {"servicePrincipalName", "ServicePrincipalName"},
}

// shown is a result as nuclei shows it.
func shown(found *ldap.SearchResult) host.Fields {
	entries := []any{}
	for _, e := range found.Entries {
		given, extra := map[string][]string{}, map[string]any{}
		for _, a := range e.Attributes {
			given[a.Name] = a.Values
			extra[a.Name] = a.Values
		}
		attributes := host.Fields{}
		for _, names := range known {
			values := append([]string{}, given[names[0]]...)
			if names[0] == "currentTime" || names[0] == "pwdLastSet" || names[0] == "lastLogon" {
				for i, v := range values {
					values[i] = adTime(v)
				}
			}
			delete(extra, names[0])
			attributes = append(attributes, host.Field{Name: names[1], Value: values})
		}
		entries = append(entries, host.Fields{
			{Name: "DN", Value: e.DN}, {Name: "Attributes", Value: append(attributes, host.Field{Name: "Extra", Value: extra})},
		})
	}
	controls := []string{}
	for _, c := range found.Controls {
		controls = append(controls, c.String())
	}
	return host.Fields{
		{Name: "Referrals", Value: append([]string{}, found.Referrals...)}, {Name: "Controls", Value: controls},
		{Name: "Entries", Value: entries},
	}
}
