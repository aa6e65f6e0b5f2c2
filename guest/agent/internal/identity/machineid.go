package identity

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const machineIDFile = "/etc/machine-id"

// CheckMachineID tells whether the id has the form that machine-id(5) wants: 32 lower-case hex digits.
func CheckMachineID(id string) error {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != 16 || strings.ToLower(id) != id {
		return fmt.Errorf("%q is not a machine id of 32 lower-case hex digits", id)
	}
	return nil
}

// WriteMachineID writes /etc/machine-id.
func WriteMachineID(id string) error { return writeFile(machineIDFile, id+"\n", 0o444) }
