<!DOCTYPE html><html lang="es"><head><meta charset="utf-8"><title>Contacto</title></head><body><a href="/">Flores Carmen</a><p>Calle Sol 4</p></body></html>
