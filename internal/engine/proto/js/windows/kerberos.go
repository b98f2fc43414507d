package windows

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

// Kerberos is the module nuclei/kerberos: users of a domain, and tickets whose encrypted parts can be attacked offline.
// A domain controller must be named: none is looked up.
func Kerberos(h *host.Host) *goja.Object {
	client := h.Class(func(a *host.Args) (*goja.Object, error) { return newDomain(h, a) })
	empty := func(fields func() any) goja.Value {
		return h.Class(func(*host.Args) (*goja.Object, error) {
			o, _ := h.Value(fields()).(*goja.Object)
			return o, nil
		})
	}
	return h.Module(map[string]goja.Value{
		"Client": client, "NewKerberosClient": client,
		"NewKerberosClientFromString": h.Func(func(a *host.Args) (any, error) { return domainOfText(h, a.Text(0)) }),
		"Config":                      h.Class(func(*host.Args) (*goja.Object, error) { return kdcConfig(h), nil }),
		"EnumerateUserResponse":       empty(func() any { return userFields(false, "", "") }),
		"TGS":                         empty(func() any { return serviceFields(h.Value(host.Fields{}), "") }),
		"SendToKDC": h.Func(h.Waits(func(a *host.Args) (any, error) {
			d, ok := a.State(0).(*domain)
			if !ok {
				return nil, errors.New("the first argument is no client")
			}
			return d.ask(h, a.Bytes(1))
		})),
		"CheckKrbError": h.Func(func(a *host.Args) (any, error) {
			var refused messages.KRBError
			if refused.Unmarshal(a.Bytes(0)) == nil {
				return nil, refused
			}
			return a.Bytes(0), nil
		}),
		"ASRepToHashcat": h.Func(func(a *host.Args) (any, error) {
			var reply messages.ASRep
			if err := reply.Unmarshal(a.Bytes(0)); err != nil {
				return nil, err
			}
			return hashOfReply(&reply)
		}),
		"TGStoHashcat": h.Func(func(a *host.Args) (any, error) {
			ticket, ok := a.State(0).(*messages.Ticket)
			if !ok {
				return nil, errors.New("the first argument is no ticket")
			}
			return hashOfTicket(ticket, a.Text(1))
		}),
	})
}

// domain is a realm and where its controllers are.
type domain struct {
	realm       string
	controllers []string // host:port
	ip          string   // instead of the hosts; "" for the hosts
	timeout     time.Duration
	config      *config.Config
}

func newDomain(h *host.Host, a *host.Args) (*goja.Object, error) {
	realm, controller := strings.ToUpper(a.Text(0)), a.Text(1)
	if realm == "" {
		return nil, errors.New("the domain is empty")
	}
	if controller == "" {
		return nil, &host.Missing{Name: "kerberos.Client without a domain controller"}
	}
	d := &domain{realm: realm, controllers: []string{withPort(controller)}, config: config.New()}
	return d.object(h), nil
}

// domainOfText is a client by a file krb5.conf.
func domainOfText(h *host.Host, text string) (*goja.Object, error) {
	c, err := config.NewFromString(text)
	if err != nil {
		return nil, err
	}
	d := &domain{realm: c.LibDefaults.DefaultRealm, config: c}
	for _, realm := range c.Realms {
		if realm.Realm == d.realm {
			for _, controller := range realm.KDC {
				d.controllers = append(d.controllers, withPort(controller))
			}
		}
	}
	if len(d.controllers) == 0 {
		return nil, &host.Missing{Name: "kerberos.Client without a domain controller"}
	}
	return d.object(h), nil
}

func withPort(controller string) string {
	if _, _, err := net.SplitHostPort(controller); err == nil {
		return controller
	}
	return host.Address(controller, "88")
}

func (d *domain) object(h *host.Host) *goja.Object {
	o := h.Kept("kerberos.Client", d, host.Methods{
		"SetConfig": func(a *host.Args) (any, error) {
			c, ok := a.State(0).(*kdcOptions)
			if !ok {
				return nil, errors.New("the argument is no Config")
			}
			d.ip, d.timeout = c.ip, c.timeout
			return nil, nil //nolint:nilnil // it returns nothing
		},
		"EnumerateUser": h.Waits(func(a *host.Args) (any, error) { return d.enumerate(h, a.Text(0)) }),
		"GetServiceTicket": h.Waits(func(a *host.Args) (any, error) {
			for i, name := range []string{"user", "password", "service"} {
				if a.Text(i) == "" {
					return nil, fmt.Errorf("the %s is empty", name)
				}
			}
			ticket, err := d.serviceTicket(h, a.Text(0), a.Text(1), a.Text(2))
			if err != nil {
				return nil, err
			}
			hash, err := hashOfTicket(ticket, d.realm)
			if err != nil {
				return nil, err
			}
			shown := h.Value(ticketFields(ticket))
			if o, ok := shown.(*goja.Object); ok {
				h.SetState(o, ticket)
			}
			return serviceFields(shown, hash), nil
		}),
	})
	if err := o.Set("Realm", d.realm); err != nil {
		panic(h.VM.NewGoError(err))
	}
	return o
}

// kdcOptions are what a Config holds.
type kdcOptions struct {
	ip      string
	timeout time.Duration
}

func kdcConfig(h *host.Host) *goja.Object {
	c := &kdcOptions{}
	var o *goja.Object
	o = h.Kept("kerberos.Config", c, host.Methods{
		"SetIPAddress": func(a *host.Args) (any, error) {
			c.ip = a.Text(0)
			return o, nil
		},
		"SetTimeout": func(a *host.Args) (any, error) {
			c.timeout = time.Duration(min(max(a.Int(0), 0), 3600)) * time.Second
			return o, nil
		},
	})
	return o
}

// enumerate asks for a ticket of a user without a password: the answer says whether there is one.
func (d *domain) enumerate(h *host.Host, user string) (any, error) {
	_, got, err := d.askTGT(h, user)
	if refused, ok := errors.AsType[messages.KRBError](err); ok {
		wants := refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED
		return userFields(wants, "", errorcode.Lookup(refused.ErrorCode)), nil
	}
	if err != nil {
		return nil, err
	}
	var reply messages.ASRep
	if err := reply.Unmarshal(got); err != nil {
		return nil, err // nuclei calls that a valid user
	}
	hash, err := hashOfReply(&reply)
	return userFields(true, hash, ""), err
}

func userFields(valid bool, hash, problem string) host.Fields {
	return host.Fields{{Name: "Valid", Value: valid}, {Name: "ASREPHash", Value: hash}, {Name: "Error", Value: problem}}
}

func serviceFields(ticket goja.Value, hash string) host.Fields {
	return host.Fields{{Name: "Ticket", Value: ticket}, {Name: "Hash", Value: hash}, {Name: "ErrMsg", Value: ""}}
}

func ticketFields(t *messages.Ticket) host.Fields {
	return host.Fields{
		{Name: "TktVNO", Value: t.TktVNO}, {Name: "Realm", Value: t.Realm},
		{Name: "SName", Value: host.Fields{
			{Name: "NameType", Value: t.SName.NameType}, {Name: "NameString", Value: t.SName.NameString},
		}},
		{Name: "EncPart", Value: host.Fields{
			{Name: "EType", Value: t.EncPart.EType}, {Name: "KVNO", Value: t.EncPart.KVNO},
			{Name: "Cipher", Value: t.EncPart.Cipher},
		}},
	}
}

var errShort = errors.New("the encrypted part is too short")

// hashOfReply and hashOfTicket are what hashcat takes.
func hashOfReply(r *messages.ASRep) (string, error) {
	c := r.EncPart.Cipher
	if len(c) < 16 {
		return "", errShort
	}
	return fmt.Sprintf("$krb5asrep$%d$%s@%s:%s$%s", r.EncPart.EType, r.CName.PrincipalNameString(), r.CRealm,
		hex.EncodeToString(c[:16]), hex.EncodeToString(c[16:])), nil
}

func hashOfTicket(t *messages.Ticket, user string) (string, error) {
	c := t.EncPart.Cipher
	if len(c) < 16 {
		return "", errShort
	}
	return fmt.Sprintf("$krb5tgs$%d$*%s$%s$%s*$%s$%s", t.EncPart.EType, user, t.Realm,
		strings.Join(t.SName.NameString, "/"), hex.EncodeToString(c[:16]), hex.EncodeToString(c[16:])), nil
}
