package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"
)

// serveSite starts the weak site, which contacts the name in the parameter "to" by the protocol in the path.
func serveSite() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(weak), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // it ends with the process
	return "http://" + l.Addr().String(), nil
}

func weak(w http.ResponseWriter, r *http.Request) {
	to := r.URL.Query().Get("to")
	if to == "" {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	var err error
	switch r.URL.Path {
	case "/http", "/https":
		err = fetch(ctx, r.URL.Path[1:]+"://"+to+"/contact")
	case "/dns":
		_, err = net.DefaultResolver.LookupHost(ctx, to)
	case "/smtp":
		mail := []byte("Subject: contact\r\n\r\nhello\r\n")
		err = smtp.SendMail(to+":25", nil, "site@example.com", []string{"somebody@" + to}, mail)
	case "/ldap":
		err = search(to)
	case "/ftp":
		err = login(to)
	case "/tcp":
		err = say(to)
	}
	if err != nil {
		fmt.Printf("the site: %s: %v\n", r.URL.Path, err)
	}
}

func fetch(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// search does what a lookup of ldap://NAME/NAME does: a bind without a name, and a search from a base.
func search(to string) error {
	c, err := net.DialTimeout("tcp", to+":389", 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	answer := make([]byte, 512)
	base := string(byte(len(to))) + to
	body := "\x04" + base + "\x0a\x01\x00\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00"
	message := "\x02\x01\x02\x63" + string(byte(len(body))) + body
	for _, one := range []string{
		"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00", "\x30" + string(byte(len(message))) + message,
	} {
		if _, err := c.Write([]byte(one)); err != nil {
			return err
		}
		if _, err := c.Read(answer); err != nil {
			return err
		}
	}
	return nil
}

func login(to string) error {
	c, err := textproto.Dial("tcp", to+":21")
	if err != nil {
		return err
	}
	defer c.Close()
	if _, _, err := c.ReadResponse(220); err != nil {
		return err
	}
	name, _, _ := strings.Cut(to, ":")
	if err := c.PrintfLine("USER %s", name); err != nil {
		return err
	}
	_, _, err = c.ReadResponse(331)
	return err
}

func say(to string) error {
	c, err := net.DialTimeout("tcp", to+":9999", 5*time.Second)
	if err != nil {
		return err
	}
	_, err = c.Write([]byte("hello " + to + "\n"))
	if err != nil {
		return err
	}
	return c.Close()
}
