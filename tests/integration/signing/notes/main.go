// Checks a signed checkpoint and the ledger below it with Go's own sumdb packages, to find where ours differ.
// notes KEY NOTE LEAVES: a verifier key, a note's file, and a file with one base64 leaf a line.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if err := check(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func check(vkey, noteFile, leafFile string) error {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(noteFile)
	if err != nil {
		return err
	}
	opened, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		return err
	}
	var size int64
	lines := strings.Split(opened.Text, "\n")
	if _, err := fmt.Sscanf(lines[1], "%d", &size); err != nil {
		return err
	}
	root, err := rootOf(leafFile, size)
	if err != nil {
		return err
	}
	if told := lines[2]; told != base64.StdEncoding.EncodeToString(root[:]) {
		return fmt.Errorf("the note tells root %s, the leaves give %s", told, root)
	}
	return nil
}

func rootOf(leafFile string, size int64) (tlog.Hash, error) {
	file, err := os.Open(leafFile)
	if err != nil {
		return tlog.Hash{}, err
	}
	defer file.Close()
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for at, index := range indexes {
			found[at] = stored[index]
		}
		return found, nil
	})
	lines := bufio.NewScanner(file)
	for number := int64(0); number < size && lines.Scan(); number++ {
		leaf, err := base64.StdEncoding.DecodeString(lines.Text())
		if err != nil {
			return tlog.Hash{}, err
		}
		hashes, err := tlog.StoredHashes(number, leaf, reader)
		if err != nil {
			return tlog.Hash{}, err
		}
		stored = append(stored, hashes...)
	}
	return tlog.TreeHash(size, reader)
}
