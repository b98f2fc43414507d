package remote

import (
	"context"
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// mailName are names of fields that come into the header of a mail.
var mailName = regexp.MustCompile(`(?i)mail|subject|^from|^to$|^cc$|reply|recipient|sender|^(?:your_?|full_?|first_?)?name$`)

// mailPage are addresses of pages that send mail.
var mailPage = regexp.MustCompile(`(?i)mail|contact|feedback|message|subscri|newsletter|invite|share|send|support|enquir|inquir|forgot|reset`)

// mailBreaks are what ends a line of a header.
var mailBreaks = []string{"\r\n", "\n", "%0d%0a"}

// mail is the check for lines that a value adds to the header of a mail: one more recipient, at the out-of-band server.
// The same address without an end of a line before it must bring no mail. Three requests, and one for the control, for
// a field whose name is that of a mail's on a page that sends some; none without an out-of-band server that takes mail.
func mail() kit.Check {
	c := kit.Check{ID: "mail-header-injection", Class: "mail-header-injection", Level: client.Active}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Component != message.Body && p.Component != message.Query || !mailName.MatchString(p.Name) ||
			!mailPage.MatchString(t.Request.URL.Path) || t.Request.Method == http.MethodGet {
			return nil
		}
		if w.OAST == nil {
			w.Skip(t, c.Class, "it needs an out-of-band server")
			return nil
		}
		control := waiting{check: &c, target: t, place: p, control: true, mail: true,
			write: func(address string) *message.Request {
				return t.Request.Put(p, kit.Value(p)+" Bcc: "+mailbox(address))
			}}
		if err := call(ctx, control, w); err != nil {
			return err
		}
		for _, breaks := range mailBreaks {
			tried := waiting{check: &c, target: t, place: p, mail: true, write: func(address string) *message.Request {
				return t.Request.Put(p, kit.Value(p)+breaks+"Bcc: "+mailbox(address)+breaks+"X-"+kit.Word()+": ")
			}}
			if err := call(ctx, tried, w); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

var hostOnly = regexp.MustCompile(`^[^:/]+`)

// mailbox is one at the host of an address of the out-of-band server.
func mailbox(address string) string { return "q@" + hostOnly.FindString(address) }
