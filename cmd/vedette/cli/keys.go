package cli

import (
	"encoding/pem"
	"os"
	"strings"
)

// The environment variables with keys that sign templates, as PEM text or as the name of a file; the names that do not
// begin with VEDETTE are nuclei's, new and old.
var (
	certificateVariables = []string{
		"VEDETTE_TEMPLATE_CERTIFICATE", "NUCLEI_USER_CERTIFICATE", "NUCLEI_SIGNATURE_PUBLIC_KEY",
	}
	keyVariables = []string{"VEDETTE_TEMPLATE_KEY", "NUCLEI_USER_PRIVATE_KEY", "NUCLEI_SIGNATURE_PRIVATE_KEY"}
)

// CertificateVariables and KeyVariables are their names for a help text.
const (
	CertificateVariables = "VEDETTE_TEMPLATE_CERTIFICATE or nuclei's NUCLEI_USER_CERTIFICATE"
	KeyVariables         = "VEDETTE_TEMPLATE_KEY or nuclei's NUCLEI_USER_PRIVATE_KEY"
	PassphraseVariable   = "VEDETTE_TEMPLATE_PASSPHRASE"
)

// maxKey bounds a file with keys.
const maxKey = 1 << 20

// ReadCertificates reads the certificates in files, or without any the one of the environment.
func ReadCertificates(files []string) (all [][]byte, err error) {
	for _, name := range files {
		text, err := readKey(name)
		if err != nil {
			return nil, Usagef("--template-certificate: %w", err)
		}
		all = append(all, blocks(text)...)
	}
	if len(files) > 0 {
		return all, nil
	}
	text, from, err := fromEnvironment(certificateVariables)
	if err != nil {
		return nil, Usagef("%s: %w", from, err)
	}
	return blocks(text), nil
}

// blocks are the PEM blocks of a text, each for itself; a text without one is given back as it is.
func blocks(text []byte) (all [][]byte) {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		all = append(all, pem.EncodeToMemory(block))
	}
	if len(all) == 0 && len(text) > 0 {
		all = [][]byte{text}
	}
	return all
}

// ReadSigningKey reads a private key from a file, or else from the environment.
func ReadSigningKey(name string) ([]byte, error) {
	if name != "" {
		text, err := readKey(name)
		if err != nil {
			return nil, Usagef("--key: %w", err)
		}
		return text, nil
	}
	text, from, err := fromEnvironment(keyVariables)
	switch {
	case err != nil:
		return nil, Usagef("%s: %w", from, err)
	case text == nil:
		return nil, Usagef("there is no private key: name its file with --key, or in %s", KeyVariables)
	}
	return text, nil
}

func fromEnvironment(names []string) (text []byte, from string, err error) {
	for _, name := range names {
		value := os.Getenv(name)
		switch {
		case value == "":
		case strings.Contains(value, "-----BEGIN"):
			return []byte(value), name, nil
		default:
			text, err = readKey(value)
			return text, name, err
		}
	}
	return nil, "", nil
}

func readKey(name string) ([]byte, error) {
	info, err := os.Stat(name) //nolint:gosec // users name files of their own
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKey {
		return nil, Usagef("%s is no file of a key", name)
	}
	return os.ReadFile(name) //nolint:gosec // as above
}
