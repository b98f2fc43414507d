package service

// Read is read, for the fuzzer.
func Read(b []byte, port uint16) (Result, bool) { return read(b, port) }
