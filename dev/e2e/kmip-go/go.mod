module sealstone.test/kmip-go

go 1.25.5

require github.com/ovh/kmip-go v0.8.0
