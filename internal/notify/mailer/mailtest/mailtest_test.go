package mailtest_test

import (
	"net/smtp"
	"testing"

	"github.com/vedette-sec/vedette/internal/notify/mailer/mailtest"
)

func TestStart(t *testing.T) {
	address, mails := mailtest.Start(t)
	for range 2 {
		err := smtp.SendMail(address, nil, "a@example.com", []string{"b@example.com", "c@example.com"},
			[]byte("Subject: Hi\r\n\r\nx=3D1\r\n.dot\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		m := <-mails
		if m.From != "a@example.com" || len(m.To) != 2 || m.To[1] != "c@example.com" || m.Head != "Subject: Hi" ||
			m.Text != "x=1\r\n.dot\r\n" {
			t.Errorf("%+v", m)
		}
	}
}
