package main

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// What the daemon's rules look guests up in (packages/daemon/src/adapters/network-linux/ruleset.ts).
const (
	guestSet  = "guests"
	policyMap = "policies"
)

// admit enters guests where the rules look for them, in one transaction.
func (h *host) admit(guests []guest) error {
	change, err := nftables.New()
	if err != nil {
		return err
	}
	var known, policies, outdated []nftables.SetElement
	for _, g := range guests {
		known = append(known, nftables.SetElement{Key: g.key()})
		policies = append(policies, nftables.SetElement{Key: g.Address.AsSlice(), VerdictData: verdict(g.Policy)})
		if g.Was != "" {
			outdated = append(outdated, nftables.SetElement{Key: g.Address.AsSlice()})
		}
	}
	if err := errors.Join(
		remove(change, h.policies(), outdated),
		change.SetAddElements(h.policies(), policies),
		change.SetAddElements(h.guests(), known),
	); err != nil {
		return err
	}
	if err := change.Flush(); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	return nil
}

// dismiss takes guests out of where the rules look for them: all at once, or, where some of it is not there, one by one.
func (h *host) dismiss(guests []guest) error {
	var known, policies []nftables.SetElement
	for _, g := range guests {
		known = append(known, nftables.SetElement{Key: g.key()})
		policies = append(policies, nftables.SetElement{Key: g.Address.AsSlice()})
	}
	err := h.removeElements(known, policies)
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	var failures []error
	for at := range guests {
		failures = append(failures,
			ignoreMissing(h.removeElements(known[at:at+1], nil)),
			ignoreMissing(h.removeElements(nil, policies[at:at+1])))
	}
	return errors.Join(failures...)
}

func (h *host) removeElements(known, policies []nftables.SetElement) error {
	change, err := nftables.New()
	if err != nil {
		return err
	}
	if err := errors.Join(remove(change, h.guests(), known), remove(change, h.policies(), policies)); err != nil {
		return err
	}
	if err := change.Flush(); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	return nil
}

// remove leaves a set alone when nothing is to be removed: without elements it would be emptied.
func remove(change *nftables.Conn, set *nftables.Set, elements []nftables.SetElement) error {
	if len(elements) == 0 {
		return nil
	}
	return change.SetDeleteElements(set, elements)
}

func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (h *host) guests() *nftables.Set {
	table := &nftables.Table{Name: h.bridge, Family: nftables.TableFamilyBridge}
	return &nftables.Set{Table: table, Name: guestSet}
}

func (h *host) policies() *nftables.Set {
	table := &nftables.Table{Name: h.bridge, Family: nftables.TableFamilyINet}
	return &nftables.Set{Table: table, Name: policyMap, IsMap: true}
}

// key is a guest's element of the set: its tap, MAC and address, each padded to words of four bytes, as nft lays them out.
func (g guest) key() []byte {
	key := make([]byte, unix.IFNAMSIZ, unix.IFNAMSIZ+12)
	copy(key, g.Tap)
	key = append(append(key, g.MAC...), 0, 0)
	return append(key, g.Address.AsSlice()...)
}

func verdict(policy string) *expr.Verdict {
	switch policy {
	case "accept":
		return &expr.Verdict{Kind: expr.VerdictAccept}
	case "drop":
		return &expr.Verdict{Kind: expr.VerdictDrop}
	default:
		return &expr.Verdict{Kind: expr.VerdictJump, Chain: policy}
	}
}
