// Package leak answers which credentials of a team's domains, and of a caller's own address, are in the breach lists
// that an operator has loaded (reference, platform API, Leaks). Nothing is asked of anybody else.
//
// A line of a list is kept sealed. It is found by keyed hashes: of its address, and of the registered domains of its
// address and of its URL. So a copy of the database without the key file shows no address and no password, and does not
// let anybody try whether one is there. Its id is a keyed hash of the line as well, so that a list that is loaded again
// adds nothing.
//
// A caller sees the leaks of their own address, and an admin of a team also those of the domains that the team has
// proved to own, with what is below them: the logins of its people (employee) and those to its sites (customer). A
// question reads the leaks that the hashes find, opens them, keeps those that the caller may see and that match, and
// sorts them. It reads at most 100,000, the latest first, and says so when there are more: its work is bounded, and is
// about 3 µs for each leak that it opens.
package leak

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Status is what a team decided about a leak.
type Status string

// The states of a leak.
const (
	Open  Status = "open"
	Fixed Status = "fixed"
)

// Type is whose a leak is.
type Type string

// The types. Vendor and Organization are the parts of Employee whose URL is of another domain, and of the same.
const (
	All          Type = "all"
	Personal     Type = "personal" // of the caller's own address
	Employee     Type = "employee" // the login is an address of a proved domain
	Customer     Type = "customer" // the URL is of a proved domain, and the login is not
	Vendor       Type = "external_vendor_leaks"
	Organization Type = "organization_leaks"
)

// Line is a leak as a list has it. What the list does not say is empty.
type Line struct {
	URL          string `json:"url,omitempty"`
	Username     string `json:"username,omitempty"`
	Password     string `json:"password,omitempty"`
	DeviceIP     string `json:"device_ip,omitempty"`
	HostUsername string `json:"host_username,omitempty"`
	Hostname     string `json:"hostname,omitempty"`
	OS           string `json:"os,omitempty"`
	MalwarePath  string `json:"malware_path,omitempty"`
	Country      string `json:"country,omitempty"`
	HardwareID   string `json:"hardware_id,omitempty"`
}

// Leak is a line that the caller may see.
type Leak struct {
	ID string // 32 hexadecimal digits
	Line
	LogDate   time.Time // when it was taken; zero: unknown
	FetchedAt time.Time // when it was loaded
	Status    Status
	Type      Type   // Personal, Employee or Customer
	Domain    string // the team's domain that it is about; empty for a personal leak of another domain
}

// Leaks is the service of leaks.
type Leaks struct {
	db  *db.DB
	box *seal.Box
	now func() time.Time

	mu  sync.Mutex
	key []byte // nil until it was read
}

// New makes the service.
func New(d *db.DB, box *seal.Box) *Leaks { return &Leaks{db: d, box: box, now: time.Now} }

const keyContext = "leak/key"

// hashKey is the key of the hashes. The first who asks for it makes it; of several at once, all get the first one's.
func (ls *Leaks) hashKey(ctx context.Context) ([]byte, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.key != nil {
		return ls.key, nil
	}
	made := make([]byte, sha256.Size)
	_, _ = rand.Read(made) // never fails
	sealed, err := ls.box.Seal(made, keyContext)
	if err != nil {
		return nil, err
	}
	err = ls.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO leak_key (one, sealed) VALUES (1, ?) ON CONFLICT (one) DO NOTHING`, sealed); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT sealed FROM leak_key`).Scan(&sealed)
	})
	if err != nil {
		return nil, err
	}
	ls.key, err = ls.box.Open(sealed, keyContext)
	return ls.key, err
}

// hash is a keyed hash of texts, of 128 bits.
func hash(key []byte, texts ...string) string {
	mac := hmac.New(sha256.New, key)
	for _, text := range texts {
		_, _ = mac.Write(append([]byte(text), 0)) // never fails
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func addressHash(key []byte, address string) string { return hash(key, "address", address) }
func domainHash(key []byte, domain string) string   { return hash(key, "domain", domain) }

// names are the hashes under which a line is looked up: none if it names no address and no domain.
func (l Line) names(key []byte) (found []string) {
	address := l.address()
	if address != "" {
		found = append(found, addressHash(key, address))
	}
	for _, host := range []string{domainOf(address), l.host()} {
		if domain, ok := discover.RegisteredOf(host); ok {
			if name := domainHash(key, domain); len(found) == 0 || found[len(found)-1] != name {
				found = append(found, name)
			}
		}
	}
	return found
}

// address is the login, if it is an email address, in lower case.
func (l Line) address() string {
	if !strings.Contains(l.Username, "@") {
		return ""
	}
	parsed, err := mail.ParseAddress(l.Username)
	if err != nil || parsed.Name != "" {
		return ""
	}
	return strings.ToLower(parsed.Address)
}

func domainOf(address string) string {
	_, domain, _ := strings.Cut(address, "@")
	return domain
}

// host is the host of the URL, in lower case, without a port.
func (l Line) host() string {
	text := l.URL
	if !strings.Contains(text, "://") {
		text = "//" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// below reports whether a host is a domain or a name in it.
func below(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// viewer is what a caller may see.
type viewer struct {
	address string   // their own; empty: not asked for
	domains []string // proved by their team
}

// classify says whose a leak is for a viewer; ok is false when they may not see it.
func (v viewer) classify(l *Leak) (ok bool) {
	address := l.address()
	at, host := domainOf(address), l.host()
	var customer string
	for _, domain := range v.domains {
		if address != "" && below(at, domain) {
			l.Type, l.Domain = Employee, domain
			break
		}
		if customer == "" && below(host, domain) {
			customer = domain
		}
	}
	if l.Type == "" && customer != "" {
		l.Type, l.Domain = Customer, customer
	}
	if v.address != "" && address == v.address {
		l.Type = Personal
	}
	return l.Type != ""
}

// is reports whether a leak is of a type.
func (l *Leak) is(t Type) bool {
	if t != Vendor && t != Organization {
		return t == All || l.Type == t
	}
	ours, _ := discover.RegisteredOf(domainOf(l.address()))
	theirs, ok := discover.RegisteredOf(l.host())
	return l.Type == Employee && ok && (ours == theirs) == (t == Organization)
}

// EmailDomain and URLDomain are the domain of the login, if it is an address, and the host of the URL.
func (l *Leak) EmailDomain() string { return domainOf(l.address()) }

// URLDomain is the host of the URL.
func (l *Leak) URLDomain() string { return l.host() }

var (
	errDomain = errs.New(errs.Forbidden, "domain_not_verified",
		"Your team has not proved that it owns this domain: POST /v1/domain says how.").At("domain")
	errEmail = errs.New(errs.Forbidden, "domain_not_verified",
		"This is neither your own address, nor one of a domain that your team has proved to own.").At("email")
)

// viewer is what the caller may see of an address and a domain; empty is all.
// Forbidden when they may not see it.
func (ls *Leaks) viewer(ctx context.Context, q Query) (v viewer, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return v, err
	}
	if q.Type == All || q.Type == Personal {
		v.address = strings.ToLower(c.Email)
	}
	if c.Role != account.Admin {
		if q.Domain != "" || q.Type != All && q.Type != Personal {
			return v, errs.New(errs.Forbidden, "team_admin_required", "Only an admin of the team sees the leaks of its domains.")
		}
	} else if q.Type != Personal || q.Domain != "" {
		v.domains, err = db.Values[string](ctx, ls.db, `SELECT domain FROM domain WHERE team_id = ? AND status = 'verified'
			ORDER BY domain`, c.TeamID)
	}
	if err != nil {
		return v, err
	}
	if q.Domain != "" {
		if v, err = v.within(q.Domain); err != nil {
			return v, err
		}
	}
	if q.Email != "" && q.Email != v.address && !v.owns(domainOf(q.Email)) {
		return v, errEmail
	}
	return v, nil
}

// within narrows a viewer to a domain of theirs, or a name in one.
func (v viewer) within(domain string) (viewer, error) {
	if !v.owns(domain) {
		return v, errDomain
	}
	narrow := viewer{domains: []string{domain}}
	if below(domainOf(v.address), domain) {
		narrow.address = v.address
	}
	return narrow, nil
}

func (v viewer) owns(host string) bool {
	for _, domain := range v.domains {
		if host != "" && below(host, domain) {
			return true
		}
	}
	return false
}

var idPattern = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)

func checkID(param, id string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", errs.Field(param, "%s must be 32 hexadecimal digits.", param)
	}
	return strings.ToLower(id), nil
}

const columns = `l.id, l.sealed, l.log_date, l.fetched_at, s.status`

// scan reads and opens a leak.
func (ls *Leaks) scan(row db.Row) (l Leak, err error) {
	var sealed []byte
	var status *Status
	var at int64
	if err = row.Scan(&l.ID, &sealed, &at, db.Into(&l.FetchedAt), &status); err != nil {
		return l, err
	}
	if at != 0 {
		l.LogDate = time.UnixMicro(at).UTC()
	}
	l.Status = Open
	if status != nil {
		l.Status = *status
	}
	plain, err := ls.box.Open(sealed, lineContext(l.ID))
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(plain, &l.Line)
}

func lineContext(id string) string { return "leak/" + id }

// Find is one leak that the caller may see. NotFound when there is none.
func (ls *Leaks) Find(ctx context.Context, id string) (Leak, error) {
	id, err := checkID("leakid", id)
	if err != nil {
		return Leak{}, err
	}
	v, err := ls.viewer(ctx, Query{Type: All})
	if err != nil {
		return Leak{}, err
	}
	return ls.find(ctx, ls.db, v, id)
}

func (ls *Leaks) find(ctx context.Context, q db.Querier, v viewer, id string) (Leak, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Leak{}, err
	}
	l, err := ls.scan(q.QueryRow(ctx, `SELECT `+columns+` FROM leak l LEFT JOIN leak_status s ON s.leak_id = l.id AND s.team_id = ?
		WHERE l.id = ?`, c.TeamID, id))
	if err == nil && !v.classify(&l) {
		err = errs.Missing("leak")
	}
	return l, db.OrMissing(err, "leak")
}

// MaxIDs bounds how many leaks are named at once.
const MaxIDs = 1000

// SetStatus says of leaks that they are fixed, such as by another password, or open again: all or none. NotFound when
// the caller sees one of them not.
func (ls *Leaks) SetStatus(ctx context.Context, leakIDs []string, status Status) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if len(leakIDs) == 0 || len(leakIDs) > MaxIDs {
		return errs.Field("leakids", "Give leakid, or 1 to %d leakids.", MaxIDs)
	}
	if status != Open && status != Fixed {
		return errs.Field("status", "status must be open or fixed.")
	}
	v, err := ls.viewer(ctx, Query{Type: All})
	if err != nil {
		return err
	}
	param := "leakids"
	if len(leakIDs) == 1 {
		param = "leakid"
	}
	return ls.db.Tx(ctx, func(tx *db.Tx) error {
		for _, id := range leakIDs {
			id, err := checkID(param, id)
			if err != nil {
				return err
			}
			if _, err := ls.find(ctx, tx, v, id); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO leak_status (team_id, leak_id, status, updated_at) VALUES (?, ?, ?, ?)
				ON CONFLICT (team_id, leak_id) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at`, c.TeamID, id,
				status, db.At(ls.now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// Masked stands for a password that is not shown.
const Masked = "***MASKED***"
