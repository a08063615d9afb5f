package jsontree

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

var (
	bytesType     = reflect.TypeFor[[]byte]()
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	texterType    = reflect.TypeFor[encoding.TextMarshaler]()
)

// Of turns a Go value into a tree, in the order of its fields, by the rules of
// encoding/json with json tags. Times are UTC, to the second.
func Of(value any) (Value, error) {
	if value == nil {
		return Value{}, nil
	}
	return of(reflect.ValueOf(value))
}

func of(v reflect.Value) (Value, error) {
	t := v.Type()
	switch {
	case t == timeType:
		return Str(v.Interface().(time.Time).UTC().Format(time.RFC3339)), nil
	case t == valueType:
		return v.Interface().(Value), nil
	case isSpecial(t):
		return ofMarshaled(v)
	}
	return ofKind(v)
}

// isSpecial tells the types that say themselves how they are written. To ask takes
// longer than to write most values, so structs remember it of their fields.
func isSpecial(t reflect.Type) bool {
	return t == timeType || t == valueType || t == bytesType || t.Implements(marshalerType) || t.Implements(texterType)
}

func ofKind(v reflect.Value) (Value, error) {
	switch v.Kind() {
	case reflect.String:
		return Str(v.String()), nil
	case reflect.Bool:
		return Boolean(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(v.Int()), nil
	case reflect.Struct:
		return ofStruct(v)
	case reflect.Slice:
		return ofSlice(v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return Value{}, nil
		}
		return of(v.Elem())
	default:
		return ofMarshaled(v)
	}
}

func ofMarshaled(v reflect.Value) (Value, error) {
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return Value{}, fmt.Errorf("encode %s: %w", v.Type(), err)
	}
	return Parse(data)
}

func ofStruct(v reflect.Value) (Value, error) {
	fields := Fields(v.Type())
	tree := Obj(make([]Member, 0, len(fields))...)
	for _, f := range fields {
		if f.omitEmpty && v.Field(f.Index).IsZero() {
			continue
		}
		write := of
		if f.plain {
			write = ofKind
		}
		member, err := write(v.Field(f.Index))
		if err != nil {
			return tree, fmt.Errorf("%s: %w", f.Name, err)
		}
		tree.Members = append(tree.Members, Member{Key: f.Name, Value: member})
	}
	return tree, nil
}

func ofSlice(v reflect.Value) (Value, error) {
	tree := Value{Kind: Array, Members: make([]Member, v.Len())}
	for i := range v.Len() {
		element, err := of(v.Index(i))
		if err != nil {
			return tree, err
		}
		tree.Members[i].Value = element
	}
	return tree, nil
}
