// A KMIP server for tests, on loopback: the server of github.com/ovh/kmip-go, which does TLS, messages, versions and
// batches, over objects kept in memory here. Not for keys that protect anything.
//
//	kmip-go ADDRESS SERVER-CERT SERVER-KEY CLIENT-CA
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ovh/kmip-go"
	"github.com/ovh/kmip-go/kmipserver"
	"github.com/ovh/kmip-go/payloads"
)

// One managed object, with the attributes that a client set and those that follow from its life.
type entry struct {
	kind                  kmip.ObjectType
	object                kmip.Object
	names                 []string
	algorithm             kmip.CryptographicAlgorithm
	bits                  int32
	mask                  kmip.CryptographicUsageMask
	state                 kmip.State
	made                  time.Time
	replaced, replacement string
	information           []kmip.ApplicationSpecificInformation
}

type store struct {
	mutex   sync.Mutex
	entries map[string]*entry
	count   int
}

func (s *store) find(id string) (*entry, error) {
	found, ok := s.entries[id]
	if !ok {
		return nil, kmipserver.Errorf(kmip.ResultReasonItemNotFound, "no object %q", id)
	}
	return found, nil
}

func (s *store) add(made *entry) string {
	s.count++
	// not a plain number, so that a test which takes one for the other fails
	id := "object-" + strconv.Itoa(s.count)
	made.made = time.Now()
	made.state = kmip.StatePreActive
	s.entries[id] = made
	return id
}

// describe stores what a client says about a new object.
func (e *entry) describe(told kmip.TemplateAttribute) {
	for _, attribute := range told.Attribute {
		switch value := attribute.AttributeValue.(type) {
		case kmip.Name:
			e.names = append(e.names, value.NameValue)
		case kmip.CryptographicAlgorithm:
			e.algorithm = value
		case kmip.CryptographicUsageMask:
			e.mask = value
		case kmip.ApplicationSpecificInformation:
			e.information = append(e.information, value)
		case int32:
			if attribute.AttributeName == kmip.AttributeNameCryptographicLength {
				e.bits = value
			}
		}
	}
}

func (e *entry) attributes(id string) []kmip.Attribute {
	all := []kmip.Attribute{
		{AttributeName: kmip.AttributeNameUniqueIdentifier, AttributeValue: id},
		{AttributeName: kmip.AttributeNameObjectType, AttributeValue: e.kind},
		{AttributeName: kmip.AttributeNameState, AttributeValue: e.state},
		{AttributeName: kmip.AttributeNameCryptographicUsageMask, AttributeValue: e.mask},
		{AttributeName: kmip.AttributeNameInitialDate, AttributeValue: e.made},
	}
	for _, name := range e.names {
		value := kmip.Name{NameValue: name, NameType: kmip.NameTypeUninterpretedTextString}
		all = append(all, kmip.Attribute{AttributeName: kmip.AttributeNameName, AttributeValue: value})
	}
	if e.algorithm != 0 {
		all = append(all,
			kmip.Attribute{AttributeName: kmip.AttributeNameCryptographicAlgorithm, AttributeValue: e.algorithm},
			kmip.Attribute{AttributeName: kmip.AttributeNameCryptographicLength, AttributeValue: e.bits})
	}
	link := func(kind kmip.LinkType, to string) {
		if to != "" {
			value := kmip.Link{LinkType: kind, LinkedObjectIdentifier: to}
			all = append(all, kmip.Attribute{AttributeName: kmip.AttributeNameLink, AttributeValue: value})
		}
	}
	link(kmip.LinkTypeReplacedObjectLink, e.replaced)
	link(kmip.LinkTypeReplacementObjectLink, e.replacement)
	for index := range e.information {
		all = append(all, e.note(int32(index)))
	}
	return all
}

// note is the application specific information with this index.
func (e *entry) note(index int32) kmip.Attribute {
	name := kmip.AttributeNameApplicationSpecificInformation
	return kmip.Attribute{AttributeName: name, AttributeIndex: &index, AttributeValue: e.information[index]}
}

// matches tells whether the object has one attribute that a Locate names.
func (e *entry) matches(wanted kmip.Attribute) bool {
	switch value := wanted.AttributeValue.(type) {
	case kmip.Name:
		return slices.Contains(e.names, value.NameValue)
	case kmip.ObjectType:
		return e.kind == value
	case kmip.State:
		return e.state == value
	case kmip.CryptographicAlgorithm:
		return e.algorithm == value
	}
	return false
}

// draw makes the material of a new symmetric key.
func draw(algorithm kmip.CryptographicAlgorithm, bits int32) (kmip.Object, error) {
	if bits <= 0 || bits%8 != 0 || bits > 4096 {
		return nil, kmipserver.Errorf(kmip.ResultReasonInvalidField, "no key of %d bits", bits)
	}
	material := make([]byte, bits/8)
	if _, err := rand.Read(material); err != nil {
		return nil, err
	}
	return &kmip.SymmetricKey{KeyBlock: kmip.KeyBlock{
		KeyFormatType:          kmip.KeyFormatTypeRaw,
		CryptographicAlgorithm: algorithm,
		CryptographicLength:    bits,
		KeyValue:               &kmip.KeyValue{Plain: &kmip.PlainKeyValue{KeyMaterial: kmip.KeyMaterial{Bytes: &material}}},
	}}, nil
}

// route hands one operation to a function that has the store for itself.
func route[Req, Resp kmip.OperationPayload](
	exec *kmipserver.BatchExecutor, s *store, operation kmip.Operation, do func(req Req) (Resp, error),
) {
	exec.Route(operation, kmipserver.HandleFunc(func(_ context.Context, req Req) (Resp, error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return do(req)
	}))
}

func makers(exec *kmipserver.BatchExecutor, s *store) {
	route(exec, s, kmip.OperationCreate, func(req *payloads.CreateRequestPayload) (*payloads.CreateResponsePayload, error) {
		made := &entry{kind: req.ObjectType}
		made.describe(req.TemplateAttribute)
		object, err := draw(made.algorithm, made.bits)
		if err != nil {
			return nil, err
		}
		made.object = object
		return &payloads.CreateResponsePayload{ObjectType: req.ObjectType, UniqueIdentifier: s.add(made)}, nil
	})
	route(exec, s, kmip.OperationRegister, func(req *payloads.RegisterRequestPayload) (*payloads.RegisterResponsePayload, error) {
		made := &entry{kind: req.ObjectType, object: req.Object}
		made.describe(req.TemplateAttribute)
		return &payloads.RegisterResponsePayload{UniqueIdentifier: s.add(made)}, nil
	})
	route(exec, s, kmip.OperationReKey, func(req *payloads.RekeyRequestPayload) (*payloads.RekeyResponsePayload, error) {
		old, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		if old.kind != kmip.ObjectTypeSymmetricKey || old.replacement != "" {
			return nil, kmipserver.Errorf(kmip.ResultReasonIllegalOperation, "%s cannot be replaced", req.UniqueIdentifier)
		}
		object, err := draw(old.algorithm, old.bits)
		if err != nil {
			return nil, err
		}
		// KMIP 1.4, section 4.4: the name moves to the new key, and the two are linked
		made := &entry{kind: old.kind, object: object, names: old.names, algorithm: old.algorithm, bits: old.bits, mask: old.mask}
		made.replaced = req.UniqueIdentifier
		old.replacement = s.add(made)
		old.names = nil
		return &payloads.RekeyResponsePayload{UniqueIdentifier: old.replacement}, nil
	})
}

func readers(exec *kmipserver.BatchExecutor, s *store) {
	route(exec, s, kmip.OperationLocate, func(req *payloads.LocateRequestPayload) (*payloads.LocateResponsePayload, error) {
		found := []string{}
		for id, one := range s.entries {
			if !slices.ContainsFunc(req.Attribute, func(wanted kmip.Attribute) bool { return !one.matches(wanted) }) {
				found = append(found, id)
			}
		}
		return &payloads.LocateResponsePayload{UniqueIdentifier: found}, nil
	})
	route(exec, s, kmip.OperationGet, func(req *payloads.GetRequestPayload) (*payloads.GetResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		if found.object == nil {
			return nil, kmipserver.Errorf(kmip.ResultReasonIllegalOperation, "%s was destroyed", req.UniqueIdentifier)
		}
		return &payloads.GetResponsePayload{
			ObjectType: found.kind, UniqueIdentifier: req.UniqueIdentifier, Object: found.object,
		}, nil
	})
	route(exec, s, kmip.OperationGetAttributes, func(req *payloads.GetAttributesRequestPayload) (*payloads.GetAttributesResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		return &payloads.GetAttributesResponsePayload{
			UniqueIdentifier: req.UniqueIdentifier, Attribute: found.attributes(req.UniqueIdentifier),
		}, nil
	})
	// KMIP 1.4, section 4.15: of the attributes that a client may change, the one that our tests do
	route(exec, s, kmip.OperationModifyAttribute, func(req *payloads.ModifyAttributeRequestPayload) (*payloads.ModifyAttributeResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		value, ok := req.Attribute.AttributeValue.(kmip.ApplicationSpecificInformation)
		if !ok {
			return nil, kmipserver.Errorf(kmip.ResultReasonPermissionDenied, "%s cannot be changed", req.Attribute.AttributeName)
		}
		index := int32(0)
		if req.Attribute.AttributeIndex != nil {
			index = *req.Attribute.AttributeIndex
		}
		if index < 0 || int(index) >= len(found.information) {
			return nil, kmipserver.Errorf(kmip.ResultReasonItemNotFound, "no attribute with index %d", index)
		}
		found.information[index] = value
		return &payloads.ModifyAttributeResponsePayload{
			UniqueIdentifier: req.UniqueIdentifier, Attribute: found.note(index),
		}, nil
	})
	route(exec, s, kmip.OperationQuery, func(*payloads.QueryRequestPayload) (*payloads.QueryResponsePayload, error) {
		return &payloads.QueryResponsePayload{
			Operations: []kmip.Operation{
				kmip.OperationCreate, kmip.OperationRegister, kmip.OperationReKey, kmip.OperationLocate, kmip.OperationGet,
				kmip.OperationGetAttributes, kmip.OperationModifyAttribute, kmip.OperationActivate, kmip.OperationRevoke, kmip.OperationDestroy,
				kmip.OperationQuery, kmip.OperationDiscoverVersions,
			},
			VendorIdentification: "kmip-go",
		}, nil
	})
}

func lifecycle(exec *kmipserver.BatchExecutor, s *store) {
	route(exec, s, kmip.OperationActivate, func(req *payloads.ActivateRequestPayload) (*payloads.ActivateResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		if found.state != kmip.StatePreActive {
			return nil, kmipserver.Errorf(kmip.ResultReasonIllegalOperation, "%s is not pre-active", req.UniqueIdentifier)
		}
		found.state = kmip.StateActive
		return &payloads.ActivateResponsePayload{UniqueIdentifier: req.UniqueIdentifier}, nil
	})
	route(exec, s, kmip.OperationRevoke, func(req *payloads.RevokeRequestPayload) (*payloads.RevokeResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		switch req.RevocationReason.RevocationReasonCode {
		case kmip.RevocationReasonCodeKeyCompromise, kmip.RevocationReasonCodeCACompromise:
			found.state = kmip.StateCompromised
		default:
			if found.state != kmip.StateActive {
				return nil, kmipserver.Errorf(kmip.ResultReasonIllegalOperation, "%s is not active", req.UniqueIdentifier)
			}
			found.state = kmip.StateDeactivated
		}
		return &payloads.RevokeResponsePayload{UniqueIdentifier: req.UniqueIdentifier}, nil
	})
	route(exec, s, kmip.OperationDestroy, func(req *payloads.DestroyRequestPayload) (*payloads.DestroyResponsePayload, error) {
		found, err := s.find(req.UniqueIdentifier)
		if err != nil {
			return nil, err
		}
		switch found.state {
		case kmip.StateActive:
			return nil, kmipserver.Errorf(kmip.ResultReasonIllegalOperation, "%s is active", req.UniqueIdentifier)
		case kmip.StateCompromised:
			found.state = kmip.StateDestroyedCompromised
		default:
			found.state = kmip.StateDestroyed
		}
		found.object = nil
		return &payloads.DestroyResponsePayload{UniqueIdentifier: req.UniqueIdentifier}, nil
	})
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("kmip-go ADDRESS SERVER-CERT SERVER-KEY CLIENT-CA")
	}
	certificate, err := tls.LoadX509KeyPair(os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	authority, err := os.ReadFile(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		log.Fatal("no certificate in ", os.Args[4])
	}
	listener, err := tls.Listen("tcp", os.Args[1], &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
	})
	if err != nil {
		log.Fatal(err)
	}
	objects := &store{entries: map[string]*entry{}}
	exec := kmipserver.NewBatchExecutor()
	makers(exec, objects)
	readers(exec, objects)
	lifecycle(exec, objects)
	// the test waits for this line
	fmt.Println("listening on", listener.Addr())
	log.Fatal(kmipserver.NewServer(listener, exec).Serve())
}
